// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import JSON
internal import Receipts

/// The base64 in a field of a body: decoded while it was read, or left in the body.
package enum Base64Text: Hashable, Sendable {
    case decoded([UInt8])
    case text(JSONText)

    package func bytes(in body: Span<UInt8>) throws -> [UInt8] {
        switch self {
        case .decoded(let bytes): bytes
        case .text(let text): try text.bytes(in: body, as: Base64.decode)
        }
    }
}

extension JSONReader {
    /// Reads a string in base64, and decodes it in the same pass if it has no escapes, white space or faults.
    /// - Parameter isOther: returns true for the start of a text that is to be left in the body.
    package mutating func base64(unless isOther: (Span<UInt8>) -> Bool = { _ in false }) throws(JSONFault) -> Base64Text
    {
        let bytes = try string { text in isOther(text) ? nil : Base64.decode(quoted: text) }
        return if let bytes { .decoded(bytes) } else { .text(try string()) }
    }

    /// Returns the bytes of a JWS without the white space around it, as it comes from a file.
    package func jws(_ text: JSONText) throws(JSONFault) -> [UInt8] {
        let bytes = try unescaped(text), trimmed = bytes.withoutOuterWhiteSpace
        return trimmed.count == bytes.count ? bytes : Array(trimmed)
    }
}

extension Base64 {
    /// Decodes text that ends before the first quotation mark; nil if it has white space or a fault.
    fileprivate static func decode(quoted text: Span<UInt8>) -> (bytes: [UInt8], textCount: Int)? {
        guard let end = text.firstIndex(of: UInt8(ascii: "\""), from: 0),
            let bytes = try? decode(text.extracting(first: end)), encodedCount(of: bytes.count) == end
        else { return nil }
        return (bytes, end)
    }
}

extension JSONText {
    /// Decodes the text in the encoding of its field. Without escapes, the usual case, nothing is copied.
    package func bytes(in body: Span<UInt8>, as decode: (Span<UInt8>) throws -> [UInt8]) throws -> [UInt8] {
        guard isEscaped else { return try decode(body.extracting(range)) }
        let unescaped = try JSONReader(body).unescaped(self)
        return try decode(unescaped.span)
    }

    /// `eyJ` is the `{"` of a JWS header in base64url. The base64 of a transaction receipt on one line begins with it too.
    private static let startOfJWS = Array("eyJ".utf8)

    /// Returns true for the start of a text that may be a JWS.
    package static func mayBeJWS(_ text: Span<UInt8>) -> Bool {
        let start = text.firstAfterWhiteSpace
        return text.extracting(start..<min(start + startOfJWS.count, text.count)).equals(startOfJWS)
    }

    /// Returns true for a JWS, whose three parts are separated by dots (RFC 7515 §3.1). Base64 has no dots.
    package static func isJWS(_ text: Span<UInt8>) -> Bool {
        mayBeJWS(text) && text.firstIndex(of: UInt8(ascii: "."), from: 0) != nil
    }
}

extension UInt8 {
    /// True for the white space of JSON (RFC 8259 §2).
    fileprivate var isWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

extension [UInt8] {
    /// The bytes without the white space around them.
    package var withoutOuterWhiteSpace: ArraySlice<UInt8> {
        guard let first = firstIndex(where: { !$0.isWhiteSpace }), let last = lastIndex(where: { !$0.isWhiteSpace })
        else { return [] }
        return self[first...last]
    }
}

extension Span<UInt8> {
    /// The first position without white space, also of a text whose line ends are escaped; the end if there is none.
    var firstAfterWhiteSpace: Int {
        var position = 0
        while position < count {
            if self[position].isWhiteSpace {
                position += 1
            } else if self[position] == UInt8(ascii: "\\"), position + 1 < count,
                [UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t")].contains(self[position + 1])
            {
                position += 2
            } else {
                break
            }
        }
        return position
    }
}

/// A kind of text that is certainly no receipt in base64. The raw values are faults of the API.
package enum MisplacedInput: String, CaseIterable, Error, CustomStringConvertible {
    /// A JWS, where only receipts are taken.
    case jws = "jws_not_receipt"
    /// The base64 of a JWS.
    case encodedJWS = "jws_in_base64"
    case decodedJSON = "decoded_json"
    /// The base64 of base64.
    case encodedTwice = "base64_twice"
    /// Base64 that passed a form decoder, which makes a space of each `+`.
    case plusToSpace = "base64_plus_to_space"

    /// The kind and its remedy, as the rest of a sentence about the field.
    package var description: String {
        switch self {
        case .jws: "is a JWS of StoreKit 2, not a receipt; send it to POST /v1/verify"
        case .encodedJWS: "is the base64 of a JWS; send the JWS itself to POST /v1/verify"
        case .decodedJSON: "is decoded JSON, whose signature is lost; send the text as StoreKit gives it to the app"
        case .encodedTwice: "is base64 that was encoded to base64 again; encode the receipt once"
        case .plusToSpace: "has spaces in place of each '+' of its base64; encode '+' as %2B in forms"
        }
    }

    /// Recognises a text that is not base64.
    fileprivate static func kind(of text: Span<UInt8>, _ error: Base64Error) -> MisplacedInput? {
        if JSONText.isJWS(text) { return .jws }
        if startOfJSON(text) { return .decodedJSON }
        let mayHaveSpaces = [.missingPadding, .trailingData, .nonCanonicalBits].contains(error.fault)
        return mayHaveSpaces && hasSpacesForPlus(text) ? .plusToSpace : nil
    }

    /// Recognises what was in base64. A receipt is DER, which begins with 0x30, or a property list, which begins with `{`.
    /// - Parameter text: the base64; nil if it has no white space.
    fileprivate static func kind(decoded bytes: Span<UInt8>, from text: Span<UInt8>?) -> MisplacedInput? {
        guard !bytes.isEmpty, bytes[0] != UInt8(ascii: "{") else { return nil }
        guard bytes[0] != 0x30 else {
            guard let text, hasSpacesForPlus(text), isTruncatedDER(bytes) else { return nil }
            return .plusToSpace
        }
        if JSONText.isJWS(bytes) { return .encodedJWS }
        return bytes.count >= fewestBytes && (try? Base64.decode(bytes)) != nil ? .encodedTwice : nil
    }

    /// Fewer bytes may be base64 by chance, and are no receipt.
    private static let fewestBytes = 64

    private static func startOfJSON(_ text: Span<UInt8>) -> Bool {
        let start = text.firstAfterWhiteSpace
        return start < text.count && text[start] == UInt8(ascii: "{")
    }

    private static func hasSpacesForPlus(_ text: Span<UInt8>) -> Bool {
        text.firstIndex(of: UInt8(ascii: " "), from: text.firstAfterWhiteSpace) != nil
            && text.firstIndex(of: UInt8(ascii: "+"), from: 0) == nil
    }

    /// Returns true if an outer element in DER is longer than what there is.
    private static func isTruncatedDER(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > 6, (0x81...0x84).contains(bytes[1]) else { return false }
        let lengthBytes = Int(bytes[1]) - 0x80
        let length = (2..<2 + lengthBytes).reduce(0) { $0 << 8 | Int(bytes[$1]) }
        return bytes.count < 2 + lengthBytes + length
    }
}

extension Base64Text {
    /// Returns the bytes of a receipt.
    /// - Throws: `MisplacedInput` for a text that is certainly something else than base64; else `Base64Error`.
    package func receipt(in body: Span<UInt8>) throws -> [UInt8] {
        do {
            return try bytes(in: body)
        } catch let error as Base64Error {
            guard case .text(let text) = self else { throw error }
            throw (MisplacedInput.kind(of: body.extracting(text.range), error) as (any Error)?) ?? error
        }
    }

    /// Returns the evidence in a field that takes a receipt in base64, or one JWS.
    func evidence(in body: Span<UInt8>) throws -> Evidence {
        if case .text(let text) = self, JSONText.isJWS(body.extracting(text.range)) {
            return .jws(try JSONReader(body).jws(text))
        }
        return Evidence(receipt: try receipt(in: body))
    }

    /// Returns what is in base64 in place of a receipt; nil if that is not certain.
    package func misplaced(decoded bytes: [UInt8], in body: Span<UInt8>) -> MisplacedInput? {
        guard case .text(let text) = self else { return .kind(decoded: bytes.span, from: nil) }
        return .kind(decoded: bytes.span, from: body.extracting(text.range))
    }
}
