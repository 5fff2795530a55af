// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import JSON
internal import Receipts
package import Secrets

/// An API key as a client sends it: `rgk_5f0c9a3e71b2d846.` and 43 more characters.
///
/// The part before the dot is public: it finds the key, and may be logged. The part behind it is 32 random bytes in
/// base64url (RFC 4648 §5) and is known to the client only. 256 random bits cannot be guessed, so the stored hash
/// needs no slow function, which would only help somebody who wants to keep the gateway busy.
package struct APIKey: Sendable {
    /// The public half.
    package let id: String
    /// The secret half.
    package let secret: Secret

    /// What every key begins with.
    package static let prefix = "rgk_"
    /// The longest key that is looked at, in bytes.
    static let maximumBytes = 128

    /// A new key from the system's generator, which is cryptographically secure (getrandom(2) on Linux).
    package static func random() -> APIKey {
        let id = prefix + ASCII.hexadecimal((0..<8).map { _ in UInt8.random(in: .min ... .max) })
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        return APIKey(id: id, secret: Secret(Base64URL.encode(secret)))
    }

    private init(id: String, secret: Secret) {
        self.id = id
        self.secret = secret
    }

    /// Reads a key as it was sent; nil if it cannot be one.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maximumBytes, parts.count == 2 else { return nil }
        self.init(id: String(parts[0]), secret: Secret(String(parts[1])))
    }

    /// Reads a key from the base64 of `user:key`; the user's name means nothing.
    init?(basicCredentials text: Substring) {
        guard text.utf8.count <= 4 * Self.maximumBytes, let bytes = try? Base64.decode(Array(text.utf8).span),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        self.init(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
    }

    /// The key as the client sends it. Shown once, when it is made.
    package var exposed: String { "\(id).\(secret.exposed)" }
}

/// Hashes the secret halves of API keys. The pepper keeps a stolen clients file from being worth anything.
package struct KeyHasher: Sendable {
    private let pepper: SymmetricKey

    /// A hasher under a pepper.
    package init(pepper: Secret) {
        self.pepper = SymmetricKey(data: Array(pepper.exposed.utf8))
    }

    /// HMAC-SHA256(pepper, secret); the secret's characters are hashed, not the bytes they stand for.
    package func hash(_ secret: Secret) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(secret.exposed.utf8), using: pepper))
    }

    /// Whether a stored hash is the secret's. Takes the same time whatever the answer.
    func matches(_ secret: Secret, hash: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(hash, authenticating: Array(secret.exposed.utf8), using: pepper)
    }
}
