// SPDX-License-Identifier: Apache-2.0

/// The signed part of a certificate. A fault is one edited property.
///
/// ```
/// TBSCertificate ::= SEQUENCE { version [0] v3, serialNumber, signature, issuer, validity, subject,
///                               subjectPublicKeyInfo, extensions [3] }          -- RFC 5280 §4.1
/// ```
package struct CertificateTemplate: Sendable {
    /// The first and the last second of validity.
    struct Validity: Sendable, Hashable {
        var notBefore: DERNode
        var notAfter: DERNode

        init(_ notBefore: UTCDate, _ notAfter: UTCDate) {
            self.notBefore = notBefore.element
            self.notAfter = notAfter.element
        }
    }

    var serialNumber: [UInt8]
    var issuer: DistinguishedName
    var subject: DistinguishedName
    var validity: Validity
    var subjectPublicKeyInfo: DERNode
    var extensions: [CertificateExtension]
    /// The digest of the authority's signature, independent of the digest of receipts' signatures.
    var digest = SigningDigest.sha256

    /// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue BIT STRING }`
    func signed(by authority: some PrivateKey, _ digest: SigningDigest? = nil) -> IssuedCertificate {
        let digest = digest ?? self.digest
        let algorithm = authority.signatureAlgorithm(digest).element
        let body = tbsCertificate(algorithm).encoded
        let signature = authority.signature(over: body, digest: digest)
        let certificate = DERNode.sequence(.verbatim(body), algorithm, .bitString(signature))
        return IssuedCertificate(template: self, der: certificate.encoded)
    }

    private func tbsCertificate(_ signatureAlgorithm: DERNode) -> DERNode {
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
    mutating func remove(_ identifier: OID) {
        extensions.removeAll { $0.identifier == identifier }
    }

    mutating func replace(with replacement: CertificateExtension) {
        extensions = extensions.map { $0.identifier == replacement.identifier ? replacement : $0 }
    }

    /// Replaces one of Apple's markers by another, at the end.
    mutating func replaceMarker(_ marker: OID, by other: OID) {
        remove(marker)
        extensions.append(.marker(other))
    }
}

/// A signed certificate and its template.
package struct IssuedCertificate: Sendable {
    let template: CertificateTemplate
    package var der: [UInt8]

    package var pem: String {
        PEMEncoder.text(der, label: "CERTIFICATE")
    }

    /// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }` (RFC 5652 §10.2.4)
    var issuerAndSerialNumber: DERNode {
        .sequence(template.issuer.element, .integer(magnitude: template.serialNumber))
    }
}

/// `Name ::= SEQUENCE OF RelativeDistinguishedName`, each a SET of one attribute here (RFC 5280 §4.1.2.4).
struct DistinguishedName: Sendable, Hashable {
    /// One attribute, with the string type that the authority chose.
    struct Attribute: Sendable, Hashable {
        let type: OID
        let value: DERNode
    }

    var attributes: [Attribute]

    init(_ attributes: Attribute...) {
        self.attributes = attributes
    }

    var element: DERNode {
        .sequence(
            of: attributes.map { attribute in
                .set(of: [.sequence(attribute.type.element, attribute.value)])
            })
    }
}

extension DistinguishedName.Attribute {
    static func commonName(_ text: String) -> Self { Self(type: .commonName, value: .utf8String(text)) }
    static func organization(_ text: String) -> Self { Self(type: .organizationName, value: .utf8String(text)) }
    static func unit(_ text: String) -> Self { Self(type: .organizationalUnitName, value: .utf8String(text)) }
    static func country(_ text: String) -> Self { Self(type: .countryName, value: .printableString(text)) }
    static func email(_ text: String) -> Self { Self(type: .emailAddress, value: .ia5String(text)) }
}
