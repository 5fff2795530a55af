// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// A kind of text that is certainly no receipt in base64. The raw values are faults of the API.
package enum MisplacedInput: String, CaseIterable, Error, Hashable, Sendable {
    /// A JWS, where only receipts are taken.
    case jws = "jws_not_receipt"
    /// The base64 of a JWS.
    case encodedJWS = "jws_in_base64"
    case decodedJSON = "decoded_json"
    /// The base64 of base64.
    case encodedTwice = "base64_twice"
    /// Base64 that passed a form decoder, which makes a space of each `+`.
    case plusToSpace = "base64_plus_to_space"
}

extension MisplacedInput: CustomStringConvertible {
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
}

extension MisplacedInput {
    /// Recognises a text that is not base64.
    fileprivate init?(_ text: Span<UInt8>, _ error: Base64Error) {
        if JSONText.isJWS(text) {
            self = .jws
        } else if Self.startOfJSON(text) {
            self = .decodedJSON
        } else if [.missingPadding, .trailingData, .nonCanonicalBits].contains(error.fault),
            Self.hasSpacesForPlus(text)
        {
            self = .plusToSpace
        } else {
            return nil
        }
    }

    /// Recognises what was in base64. A receipt is DER, which begins with 0x30, or a property list, which begins with `{`.
    /// - Parameter text: the base64; nil if it has no white space.
    fileprivate init?(decoded bytes: Span<UInt8>, from text: Span<UInt8>?) {
        guard !bytes.isEmpty, bytes[0] != UInt8(ascii: "{") else { return nil }
        if bytes[0] == 0x30 {
            guard let text, Self.hasSpacesForPlus(text), Self.isTruncatedDER(bytes) else { return nil }
            self = .plusToSpace
        } else if JSONText.isJWS(bytes) {
            self = .encodedJWS
        } else if bytes.count >= Self.fewestBytes, (try? Base64.decode(bytes)) != nil {
            self = .encodedTwice
        } else {
            return nil
        }
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
            throw (MisplacedInput(body.extracting(text.range), error) as (any Error)?) ?? error
        }
    }

    /// Returns what is in base64 in place of a receipt; nil if that is not certain.
    package func misplaced(decoded bytes: [UInt8], in body: Span<UInt8>) -> MisplacedInput? {
        guard case .text(let text) = self else { return MisplacedInput(decoded: bytes.span, from: nil) }
        return MisplacedInput(decoded: bytes.span, from: body.extracting(text.range))
    }
}
