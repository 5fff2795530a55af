// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// The base64 in a field of a body: decoded while it was read, or left in the body.
enum Base64Text: Hashable, Sendable {
    case decoded([UInt8])
    case text(JSONText)

    func bytes(in body: Span<UInt8>) throws -> [UInt8] {
        switch self {
        case .decoded(let bytes): bytes
        case .text(let text): try text.bytes(in: body, as: Base64.decode)
        }
    }
}

extension JSONReader {
    /// Reads a string in base64, and decodes it in the same pass if it has no escapes, white space or faults.
    /// - Parameter isOther: returns true for the start of a text that is to be left in the body.
    mutating func base64(unless isOther: (Span<UInt8>) -> Bool = { _ in false }) throws(JSONFault) -> Base64Text {
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
    func bytes(
        in body: Span<UInt8>, as decode: (Span<UInt8>) throws(Base64Error) -> [UInt8]
    ) throws -> [UInt8] {
        let unescaped = isEscaped ? try JSONReader(body).unescaped(self) : nil
        guard let unescaped else { return try decode(body.extracting(range)) }
        return try decode(unescaped.span)
    }
}

extension JSONText {
    /// `eyJ` is the `{"` of a JWS header in base64url. The base64 of a transaction receipt on one line begins with it too.
    private static let startOfJWS = Array("eyJ".utf8)

    /// Returns true for the start of a text that may be a JWS.
    static func mayBeJWS(_ text: Span<UInt8>) -> Bool { text.extracting(first: startOfJWS.count).equals(startOfJWS) }

    /// Returns true for a JWS, whose three parts are separated by dots (RFC 7515 §3.1). Base64 has no dots.
    func isJWS(in body: Span<UInt8>) -> Bool {
        let text = body.extracting(range)
        return Self.mayBeJWS(text) && text.firstIndex(of: UInt8(ascii: "."), from: 0) != nil
    }
}
