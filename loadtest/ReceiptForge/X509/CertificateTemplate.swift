// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The signed part of a certificate. A fault is one edited property.
///
/// ```
/// TBSCertificate ::= SEQUENCE { version [0] v3, serialNumber, signature, issuer, validity, subject,
///                               subjectPublicKeyInfo, extensions [3] }          -- RFC 5280 §4.1
/// ```
struct CertificateTemplate: Sendable {
    /// The first and the last second of validity.
    struct Validity: Sendable, Hashable {
        var notBefore: DERElement
        var notAfter: DERElement

        init(_ notBefore: UTCDate, _ notAfter: UTCDate) {
            self.notBefore = notBefore.element
            self.notAfter = notAfter.element
        }
    }

    var serialNumber: [UInt8]
    var issuer: DistinguishedName
    var subject: DistinguishedName
    var validity: Validity
    var subjectPublicKeyInfo: DERElement
    var extensions: [CertificateExtension]
    /// The digest of the authority's signature, independent of the digest of receipts' signatures.
    var digest = DigestAlgorithm.sha256

    /// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue BIT STRING }`
    func signed(by authority: some PrivateKey) -> Certificate {
        let algorithm = authority.signatureAlgorithm(digest).element
        let body = tbsCertificate(algorithm).encoded
        let signature = authority.signature(over: body, digest: digest)
        let certificate = DERElement.sequence(
            .verbatim(body), algorithm, .bitString(signature))
        return Certificate(template: self, der: certificate.encoded)
    }

    private func tbsCertificate(_ signatureAlgorithm: DERElement) -> DERElement {
        .sequence(
            .explicit(0, .integer(2)),
            .integer(magnitude: serialNumber),
            signatureAlgorithm,
            issuer.element,
            .sequence(validity.notBefore, validity.notAfter),
            subject.element,
            subjectPublicKeyInfo,
            .explicit(3, .sequence(of: extensions.map(\.element))))
    }
}

extension CertificateTemplate {
    mutating func remove(_ identifier: ObjectIdentifier) {
        extensions.removeAll { $0.identifier == identifier }
    }

    mutating func replace(with replacement: CertificateExtension) {
        extensions = extensions.map { $0.identifier == replacement.identifier ? replacement : $0 }
    }
}
