// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import Cryptography
internal import JSON
internal import Receipts

/// The keys of signed answers: the first signs, and all are published. An object, because each signed request refers to it.
package final class AnswerKeys: Sendable, Hashable {
    package enum Limits {
        /// The keys that are published at a time: a rotation needs two.
        package static let keys = 1...8
    }

    package let signingKey: ECSigningKey
    package let signer: JWSSigner
    /// The time from a signature to its `exp`.
    package let lifetime: Duration
    /// The public keys as a JWK Set (RFC 7517 §5).
    package let keySet: [UInt8]

    /// - Parameter others: keys that only verify: of earlier signatures, or of signatures to come.
    package init(signingWith first: ECSigningKey, publishing others: [ECSigningKey] = [], lifetime: Duration) {
        // RFC 8725 §3.11: with a type of its own no other token passes for an answer.
        signer = JWSSigner(first, keyID: first.thumbprint, type: "answer+jwt")
        (signingKey, self.lifetime) = (first, lifetime)
        keySet = JSONWriter.object { json in
            json.objects("keys", of: [first] + others) { json, key in
                json.publicMembers(of: key)
                json.member("kid", key.thumbprint)
                json.member("use", "sig")
                json.member("alg", "ES256")
            }
        }
    }

    package static func == (one: AnswerKeys, other: AnswerKeys) -> Bool {
        one === other || (one.keySet, one.lifetime) == (other.keySet, other.lifetime)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(keySet) }
}

extension ECSigningKey {
    /// The thumbprint of the public key (RFC 7638 §3): SHA-256 of its required members in order, as base64url.
    package var thumbprint: String {
        Base64.encodeURL(HashFunction.sha256.digest(of: JSONWriter.object { $0.publicMembers(of: self) }))
    }
}

extension JSONWriter {
    /// Writes the required members of a JWK on P-256 (RFC 7518 §6.2.1), in the order of RFC 7638 §3.3.
    fileprivate mutating func publicMembers(of key: ECSigningKey) {
        // The byte 4, then both coordinates.
        let point = key.publicPoint.dropFirst()
        member("crv", "P-256")
        member("kty", "EC")
        member("x", Base64.encodeURL(Array(point.prefix(32))))
        member("y", Base64.encodeURL(Array(point.suffix(32))))
    }
}
