// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RSAPrivateKey {
    /// `SubjectPublicKeyInfo ::= SEQUENCE { algorithm AlgorithmIdentifier, subjectPublicKey BIT STRING }` (RFC 5280 §4.1)
    var subjectPublicKeyInfo: DERElement {
        .sequence(
            AlgorithmIdentifier(.rsaEncryption).element,
            .bitString(material.rsaPublicKey.encoded))
    }

    /// RFC 5280 §4.2.1.2, method 1: the SHA-1 of the subject public key's octets.
    var keyIdentifier: [UInt8] {
        DigestAlgorithm.sha1.hash(material.rsaPublicKey.encoded)
    }

    /// `PrivateKeyInfo ::= SEQUENCE { version, privateKeyAlgorithm, privateKey OCTET STRING }` (RFC 5958 §2)
    var privateKeyInfo: DERElement {
        .sequence(
            .integer(0),
            AlgorithmIdentifier(.rsaEncryption).element,
            .octetString(wrapping: material.rsaPrivateKey))
    }
}
