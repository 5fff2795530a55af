// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A key that signs certificates and is certified.
protocol PrivateKey: Sendable {
    /// `SubjectPublicKeyInfo ::= SEQUENCE { algorithm, subjectPublicKey BIT STRING }` (RFC 5280 §4.1)
    var subjectPublicKeyInfo: DERElement { get }
    /// The SHA-1 of the subject public key's bytes (RFC 5280 §4.2.1.2, method 1).
    var keyIdentifier: [UInt8] { get }

    /// Returns the algorithm of this key's signatures over the digest.
    func signatureAlgorithm(_ digest: DigestAlgorithm) -> AlgorithmIdentifier
    func signature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8]
}
