// SPDX-License-Identifier: Apache-2.0

import Cryptography
import JSON
import Testing

@testable import AppStore
@testable import Receipts

struct BearerTokenTests {
    private static let now = Timestamp(millisecondsSince1970: 1_760_000_000_999)

    @Test func `a token has Apple's header and claims`() throws {
        let parts = try Self.parts(of: ServerAPISamples.key)
        #expect(parts[0] == #"{"alg":"ES256","kid":"TESTKEY001","typ":"JWT"}"#)
        #expect(
            parts[1] == """
                {"iss":"57246542-96fe-1a63-e053-0824d011072a","iat":1759999940,"exp":1760000300,\
                "aud":"appstoreconnect-v1","bid":"com.example.forge"}
                """)
    }

    @Test func `the key's signature covers header and claims`() throws {
        for (signer, isValid) in [(ServerAPISamples.key, true), (ServerAPISamples.otherKey, false)] {
            let token = BearerToken.token(of: signer, forApp: "a", at: Self.now).exposed
            #expect(try ServerAPISamples.isSigned(token, by: ServerAPISamples.key) == isValid)
        }
    }

    @Test func `each token differs in its signature, and shows nothing of it`() {
        let tokens = (0..<2).map { _ in BearerToken.token(of: ServerAPISamples.key, forApp: "a", at: Self.now) }
        #expect(tokens[0] != tokens[1] && "\(tokens[0])" == "<redacted>")
    }

    @Test func `an app with special characters stays one claim`() throws {
        let parts = try Self.parts(of: ServerAPISamples.key, forApp: #"a","iat":"1"#)
        let claims = try JSONValue(parsing: Array(parts[1].utf8))
        #expect(claims["bid"]?.string == #"a","iat":"1"# && claims.members?.count == 5)
    }

    private static func parts(of key: ServerAPIKey, forApp app: String = ServerAPISamples.app) throws -> [String] {
        let token = BearerToken.token(of: key, forApp: app, at: now).exposed
        return try token.split(separator: ".").prefix(2).map { part in
            String(decoding: try ServerAPISamples.decode(part), as: UTF8.self)
        }
    }
}

extension ServerAPISamples {
    /// Verifies a token as Apple does.
    static func isSigned(_ token: String, by key: ServerAPIKey) throws -> Bool {
        let dot = try #require(token.lastIndex(of: "."))
        let signature = try decode(token[dot...].dropFirst())
        let point = key.privateKey.publicPoint
        guard let publicKey = PublicKey(point: point.span, on: .p256) else { return false }
        return publicKey.digest(of: Array(token[..<dot].utf8).span, signedES256: signature.span) != nil
    }

    /// Returns a claim of a token, without verifying it.
    static func claim(_ name: String, of token: String) throws -> JSONValue? {
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        return try JSONValue(parsing: decode(payload))[name]
    }

    /// Decodes base64url.
    static func decode(_ text: Substring) throws -> [UInt8] {
        let bytes = Base64URLDecoder.decode(Array(text.utf8).span)
        return try #require(bytes)
    }
}
