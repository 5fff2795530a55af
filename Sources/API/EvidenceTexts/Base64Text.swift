// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
        let unescaped = isEscaped ? try JSONReader(body).unescaped(self) : nil
        guard let unescaped else { return try decode(body.extracting(range)) }
        return try decode(unescaped.span)
    }
}

extension JSONText {
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

extension JSONReader {
    /// Returns the bytes of a JWS without the white space around it, as it comes from a file.
    package func jws(_ text: JSONText) throws(JSONFault) -> [UInt8] {
        let bytes = try unescaped(text), trimmed = bytes.withoutOuterWhiteSpace
        return trimmed.count == bytes.count ? bytes : Array(trimmed)
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
