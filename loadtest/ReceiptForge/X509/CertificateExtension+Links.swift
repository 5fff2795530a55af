// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Extensions of genuine certificates that verifiers do not read: certificates of half the size would flatter a
/// benchmark.
extension CertificateExtension {
    /// The addresses of the authority's certificate and of revocation status (RFC 5280 §4.2.2.1).
    static func authorityInfoAccess(caIssuers: String? = nil, ocsp: String) -> Self {
        let methods = [(ObjectIdentifier.caIssuers, caIssuers), (.ocsp, ocsp)]
        let descriptions = methods.compactMap { method, address in
            address.map { DERElement.sequence(method.element, uri($0)) }
        }
        return Self(identifier: .authorityInfoAccess, value: .sequence(of: descriptions))
    }

    /// `DistributionPoint ::= SEQUENCE { [0] { fullName [0] GeneralNames } }` (RFC 5280 §4.2.1.13)
    static func revocationList(at address: String) -> Self {
        let fullName = DERElement.explicit(0, uri(address))
        return Self(
            identifier: .cRLDistributionPoints, value: .sequence(.sequence(.explicit(0, fullName))))
    }

    /// A policy with a link to its statement and a notice to the user (RFC 5280 §4.2.1.4).
    static func policy(statement: String, notice: String) -> Self {
        let link = DERElement.sequence(ObjectIdentifier.cpsQualifier.element, .ia5String(statement))
        let text = DERElement.sequence(
            ObjectIdentifier.userNoticeQualifier.element, .sequence(.utf8String(notice)))
        let information = DERElement.sequence(ObjectIdentifier.testPolicy.element, .sequence(link, text))
        return Self(identifier: .certificatePolicies, value: .sequence(information))
    }

    /// `uniformResourceIdentifier [6] IA5String`, a choice of `GeneralName`.
    private static func uri(_ address: String) -> DERElement {
        DERElement(.context(6), Array(address.utf8))
    }
}
