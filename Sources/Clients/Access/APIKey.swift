// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts

/// An API key as the client sends it: `rgk_5f0c9a3e71b2d846.` and 43 more characters.
///
/// The part before the dot is public: it identifies the key and may be logged. The rest is 32 random bytes in base64url
/// (RFC 4648 §5), known to the client only. 256 random bits cannot be guessed, so the stored hash needs no slow
/// function, which would only help denial of service.
package struct APIKey: Sendable {
    /// The public part.
    package let id: String
    /// The secret part.
    package let secret: Secret

    package static let prefix = "rgk_"
    /// The maximum length of a key that is checked, in bytes.
    static let maximumBytes = 128

    /// Generates a key with the system's cryptographically secure generator (getrandom(2) on Linux).
    package static func random() -> APIKey {
        let id = prefix + ASCII.hexadecimal((0..<8).map { _ in UInt8.random(in: .min ... .max) })
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        return APIKey(id: id, secret: Secret(Base64.encodeURL(secret)))
    }

    /// The key as the client sends it. Shown once, when it is made.
    package var exposed: String { "\(id).\(secret.exposed)" }
}

extension APIKey {
    /// Parses a key as it was sent; nil if the form is wrong.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(id: String(parts[0]), secret: Secret(String(parts[1])))
    }

    /// Parses a key from the base64 of `user:key`; the user name is ignored.
    init?(basicCredentials text: Substring) {
        guard text.utf8.count <= 4 * Self.maximumBytes, let bytes = try? Base64.decode(Array(text.utf8).span),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        self.init(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
    }
}

/// Hashes the secret part of API keys with a pepper, so that a stolen clients file is worthless.
package struct KeyHasher: Sendable {
    private let pepper: HMACKey

    package init(pepper: Secret) {
        self.pepper = HMACKey(Array(pepper.exposed.utf8))
    }

    /// Returns HMAC-SHA256(pepper, secret). The secret's characters are hashed, not the bytes they encode.
    package func hash(_ secret: Secret) -> [UInt8] {
        pepper.code(for: secret.exposed.utf8.span)
    }

    /// Compares a secret with a stored hash in constant time.
    func matches(_ secret: Secret, hash: [UInt8]) -> Bool {
        pepper.isValid(hash, for: secret.exposed.utf8.span)
    }
}
