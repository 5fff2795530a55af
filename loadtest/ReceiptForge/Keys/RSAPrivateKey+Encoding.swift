// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RSAPrivateKey: PrivateKey {
    var subjectPublicKeyInfo: DERElement {
        .sequence(
            AlgorithmIdentifier(.rsaEncryption).element,
            .bitString(material.rsaPublicKey.encoded))
    }

    var keyIdentifier: [UInt8] {
        DigestAlgorithm.sha1.hash(material.rsaPublicKey.encoded)
    }

    func signatureAlgorithm(_ digest: DigestAlgorithm) -> AlgorithmIdentifier {
        AlgorithmIdentifier(digest.withRSAEncryption)
    }

    /// `PrivateKeyInfo ::= SEQUENCE { version, privateKeyAlgorithm, privateKey OCTET STRING }` (RFC 5958 §2)
    var privateKeyInfo: DERElement {
        .sequence(
            .integer(0),
            AlgorithmIdentifier(.rsaEncryption).element,
            .octetString(wrapping: material.rsaPrivateKey))
    }
}
