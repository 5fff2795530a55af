// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A key that signs certificates, and that certificates are made out to.
protocol PrivateKey: Sendable {
    /// `SubjectPublicKeyInfo ::= SEQUENCE { algorithm, subjectPublicKey BIT STRING }` (RFC 5280 §4.1)
    var subjectPublicKeyInfo: DERElement { get }
    /// RFC 5280 §4.2.1.2, method 1: the SHA-1 of the subject public key's octets.
    var keyIdentifier: [UInt8] { get }

    /// The name of this key's signatures over the digest.
    func signatureAlgorithm(_ digest: DigestAlgorithm) -> AlgorithmIdentifier
    func signature(over message: [UInt8], digest: DigestAlgorithm) -> [UInt8]
}
