// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signed certificate and its template.
public struct Certificate: Sendable {
    let template: CertificateTemplate
    /// The DER encoding.
    public var der: [UInt8]

    /// The certificate in PEM (RFC 7468).
    public var pem: String {
        PEM.text(der, label: "CERTIFICATE")
    }

    /// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }` (RFC 5652 §10.2.4)
    var issuerAndSerialNumber: DERElement {
        .sequence(template.issuer.element, .integer(magnitude: template.serialNumber))
    }
}
