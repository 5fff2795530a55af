// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Signs like Xcode for StoreKit testing: one self-signed certificate, BER around the content.
///
/// Every Xcode has the same private key, so such a receipt proves nothing; a gateway accepts it only if its operator
/// trusts that certificate for the environment Xcode.
package struct XcodePKI: Sendable {
    /// The self-signed certificate that signs receipts and is its own root. Valid 2020 to 2040.
    package let certificate: IssuedCertificate
    private let key: RSAPrivateKey

    package init(seed: UInt64) {
        let key = KeyRing(seed: seed).key(for: .xcode)
        self.key = key
        certificate = CertificateTemplate.xcode(key: key).signed(by: key)
    }

    package var rootPEM: String { certificate.pem }

    /// Signs a receipt as Xcode does. The receipt type is `Xcode`, whatever `contents` has.
    package func signLikeXcode(_ contents: ReceiptContents) -> [UInt8] {
        let payload = contents.xcodePayload
        var container = SignedDataTemplate(signing: payload, by: key, certificates: [certificate], digest: .sha256)
        container.signerInfos[0].signatureAlgorithm = AlgorithmIdentifier(.sha256WithRSAEncryption)
        container.encapsulatedContentInfo.eContent = .segmentedOctetString(payload)
        container.outerLengthForm = .indefinite
        return container.encoded
    }
}

extension DERNode {
    /// A constructed `OCTET STRING` of indefinite length and one segment (X.690 §8.7.3): valid BER, never DER.
    static func segmentedOctetString(_ segment: [UInt8]) -> DERNode {
        DERNode(DERNodeTag.octetString.constructed, lengthForm: .indefinite, children: [.octetString(segment)])
    }
}

extension CertificateTemplate {
    /// A self-signed code-signing authority, without markers.
    static func xcode(key: RSAPrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: [1], issuer: TestNames.xcode, subject: TestNames.xcode,
            validity: Validity(UTCDate(2020, 4, 1, 17, 52, 35), UTCDate(2040, 3, 27, 17, 52, 35)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .certificateAuthority(),
                .keyUsage([.digitalSignature, .keyCertSign]),
                .extendedKeyUsage(.codeSigning),
            ])
    }
}
