// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing

@testable import Receipts

/// A JWS with a genuine signature on P-256.
struct CheckedJWS {
    let header: String
    let payload: String

    /// - Parameter point: returns the public key, uncompressed, that a header names.
    init(_ jws: String, point: (_ header: String) throws -> [UInt8]) throws {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        header = String(decoding: try Self.decode(parts[0]), as: UTF8.self)
        payload = String(decoding: try Self.decode(parts[1]), as: UTF8.self)
        let point = try point(header), signature = try Self.decode(parts[2])
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        let found = PublicKey(point: point.span, on: .p256), key = try #require(found)
        let isSigned = key.digest(of: message.span, signedES256: signature.span) != nil
        try #require(isSigned)
    }

    /// Decodes base64url.
    static func decode(_ text: Substring) throws -> [UInt8] {
        let bytes = Base64URLDecoder.decode(Array(text.utf8).span)
        return try #require(bytes)
    }
}
