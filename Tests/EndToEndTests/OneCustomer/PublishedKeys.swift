// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import Testing

@testable import Receipts

/// The keys with which an app checks signed answers.
struct PublishedKeys {
    private let keys: [[String: Any]]

    /// - Parameter keySet: the published JWK Set.
    init(_ keySet: [String: Any]) throws {
        keys = try #require(keySet["keys"] as? [[String: Any]])
    }

    /// Returns the claims of a signed answer, whose signature must be genuine.
    func claims(of jws: String) throws -> [String: Any] {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let header = try Self.object(parts[0])
        #expect(header["alg"] as? String == "ES256" && header["typ"] as? String == "answer+jwt")
        let name = try #require(header["kid"] as? String)
        let jwk = try #require(keys.first { $0["kid"] as? String == name })
        let point = try ["x", "y"].reduce([4]) { try $0 + Self.bytes(#require(jwk[$1] as? String)[...]) }
        let made = PublicKey(point: point.span, on: .p256)
        let key = try #require(made)
        let signature = try Self.bytes(parts[2])
        let isSigned = key.digest(of: Array("\(parts[0]).\(parts[1])".utf8).span, signedES256: signature.span) != nil
        try #require(isSigned)
        return try Self.object(parts[1])
    }

    /// Returns the SHA-256 of what was sent, in base64url, as claims have it.
    static func digest(_ bytes: [UInt8]) -> String { Base64.encodeURL(HashFunction.sha256.digest(of: bytes)) }

    private static func object(_ text: Substring) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(bytes(text)))
        return try #require(json as? [String: Any])
    }

    private static func bytes(_ text: Substring) throws -> [UInt8] {
        let bytes = Base64URLDecoder.decode(Array(text.utf8).span)
        return try #require(bytes)
    }
}
