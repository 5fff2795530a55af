// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import Receipts

/// A key that signs webhooks by the rules of Standard Webhooks (https://www.standardwebhooks.com). The secret is the
/// text with its prefix, which `init(_:)` has checked.
package enum WebhookKey: Hashable, Sendable {
    /// `whsec_` and base64 of 24 to 64 bytes: HMAC-SHA256, signatures `v1,…`.
    case symmetric(Secret)
    /// `whsk_` and base64 of an Ed25519 seed of 32 bytes or seed and public key of 64: signatures `v1a,…`.
    case asymmetric(Secret)

    private static let symmetricPrefix = "whsec_"
    private static let asymmetricPrefix = "whsk_"
    private static let publicPrefix = "whpk_"
    /// The lengths of symmetric keys that the specification permits, in bytes.
    private static let symmetricLengths = 24...64

    /// Reads `whsec_…` or `whsk_…`. White space around the key, such as the line end of a file, is ignored.
    package init(_ text: String) throws(WebhookKeyFault) {
        let text = text.trimmed
        if text.hasPrefix(Self.symmetricPrefix) {
            self = .symmetric(Secret(text))
        } else if text.hasPrefix(Self.asymmetricPrefix) {
            self = .asymmetric(Secret(text))
        } else {
            throw text.hasPrefix(Self.publicPrefix) ? .publicKey : .prefix
        }
        _ = try signingKey()
    }

    /// `whpk_` and base64 of the public key, for receivers; nil for a symmetric key.
    package var publicKey: String? {
        guard case .ed25519(let key) = try? signingKey() else { return nil }
        return Self.publicPrefix + Base64.encode(key.publicKey)
    }

    enum SigningKey: Sendable {
        case hmac(HMACKey)
        case ed25519(Ed25519SigningKey)
    }

    func signingKey() throws(WebhookKeyFault) -> SigningKey {
        switch self {
        case .symmetric(let secret):
            let bytes = try Self.bytes(of: secret.exposed, after: Self.symmetricPrefix)
            guard Self.symmetricLengths.contains(bytes.count) else { throw .symmetricLength(bytes.count) }
            return .hmac(HMACKey(bytes))
        case .asymmetric(let secret):
            let bytes = try Self.bytes(of: secret.exposed, after: Self.asymmetricPrefix)
            let seed = Array(bytes.prefix(Ed25519SigningKey.seedByteCount)), stated = bytes.dropFirst(seed.count)
            guard stated.isEmpty || stated.count == Ed25519SigningKey.publicKeyByteCount,
                let key = Ed25519SigningKey(seed: seed)
            else { throw .asymmetricLength(bytes.count) }
            guard stated.isEmpty || stated.elementsEqual(key.publicKey) else { throw .mismatch }
            return .ed25519(key)
        }
    }

    private static func bytes(of text: String, after prefix: String) throws(WebhookKeyFault) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(Array(text.utf8.dropFirst(prefix.utf8.count)).span)
        } catch {
            throw .base64(error)
        }
    }
}

/// The reason why a text is no webhook key. Holds no character of the text.
package enum WebhookKeyFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// It begins with neither `whsec_` nor `whsk_`.
    case prefix
    /// `whpk_`: the public key of receivers, which cannot sign.
    case publicKey
    case base64(Base64Error)
    /// The number of bytes.
    case symmetricLength(Int)
    case asymmetricLength(Int)
    /// The public key in the last 32 bytes does not belong to the seed.
    case mismatch

    /// The fault and its remedy, as the rest of a sentence about the key.
    package var description: String {
        switch self {
        case .prefix: "begins with neither 'whsec_' nor 'whsk_'; create one: echo whsec_$(openssl rand -base64 32)"
        case .publicKey: "is a public key ('whpk_'); the gateway needs the signing key ('whsk_')"
        case .base64(let error): "after its prefix \(error)"
        case .symmetricLength(let count): "has \(count) bytes after 'whsec_'; 24 to 64 are required"
        case .asymmetricLength(let count):
            "has \(count) bytes after 'whsk_'; 32 (a seed) or 64 (seed and public key) are required"
        case .mismatch: "has a public key in its last 32 bytes that does not belong to its first 32"
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
