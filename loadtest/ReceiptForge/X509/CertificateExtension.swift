// SPDX-License-Identifier: Apache-2.0

/// `Extension ::= SEQUENCE { extnID OBJECT IDENTIFIER, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }`
/// (RFC 5280 §4.1)
struct CertificateExtension: Sendable, Hashable {
    let identifier: OID
    var isCritical = false
    let value: DERNode

    var element: DERNode {
        // X.690 §11.5: a value equal to its DEFAULT is omitted.
        let critical: [DERNode] = isCritical ? [.boolean(true)] : []
        return .sequence(of: [identifier.element] + critical + [.octetString(wrapping: value)])
    }
}

extension CertificateExtension {
    /// The bits of `KeyUsage` (RFC 5280 §4.2.1.3), in one byte.
    struct KeyUsage: OptionSet, Sendable {
        let rawValue: UInt8
        static let digitalSignature = KeyUsage(rawValue: 0x80)
        static let keyEncipherment = KeyUsage(rawValue: 0x20)
        static let keyCertSign = KeyUsage(rawValue: 0x04)
        static let cRLSign = KeyUsage(rawValue: 0x02)
    }

    static func keyUsage(_ usage: KeyUsage) -> Self {
        // X.690 §11.2.2: trailing zero bits of a named bit list are not written.
        let bits = DERNode.bitString([usage.rawValue], unusedBits: UInt8(usage.rawValue.trailingZeroBitCount))
        return Self(identifier: .keyUsage, isCritical: true, value: bits)
    }

    /// An authority; `pathLength` counts the intermediates that may follow it (RFC 5280 §4.2.1.9).
    static func certificateAuthority(pathLength: Int64? = nil) -> Self {
        let limit: [DERNode] = pathLength.map { [.integer($0)] } ?? []
        return Self(identifier: .basicConstraints, isCritical: true, value: .sequence(of: [.boolean(true)] + limit))
    }

    /// `CA:FALSE`, which is the default and therefore an empty SEQUENCE.
    static let endEntity = Self(identifier: .basicConstraints, isCritical: true, value: .sequence())

    static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self(identifier: .subjectKeyIdentifier, value: .octetString(identifier))
    }

    static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Self {
        let keyIdentifier = DERNode(.context(0), identifier)
        return Self(identifier: .authorityKeyIdentifier, value: .sequence(keyIdentifier))
    }

    static func extendedKeyUsage(_ purposes: OID...) -> Self {
        Self(identifier: .extendedKeyUsage, isCritical: true, value: .sequence(of: purposes.map(\.element)))
    }

    /// Apple's markers have no content: NULL inside, not critical.
    static func marker(_ identifier: OID) -> Self {
        Self(identifier: identifier, value: .null)
    }
}

/// Extensions of genuine certificates that verifiers do not read: certificates of half the size would flatter a
/// benchmark.
extension CertificateExtension {
    /// The addresses of the authority's certificate and of revocation status (RFC 5280 §4.2.2.1).
    static func authorityInfoAccess(caIssuers: String? = nil, ocsp: String) -> Self {
        let methods = [(OID.caIssuers, caIssuers), (.ocsp, ocsp)]
        let descriptions = methods.compactMap { method, address in
            address.map { DERNode.sequence(method.element, uri($0)) }
        }
        return Self(identifier: .authorityInfoAccess, value: .sequence(of: descriptions))
    }

    /// `DistributionPoint ::= SEQUENCE { [0] { fullName [0] GeneralNames } }` (RFC 5280 §4.2.1.13)
    static func revocationList(at address: String) -> Self {
        let fullName = DERNode.explicit(0, uri(address))
        return Self(identifier: .cRLDistributionPoints, value: .sequence(.sequence(.explicit(0, fullName))))
    }

    /// A policy with a link to its statement and a notice to the user (RFC 5280 §4.2.1.4).
    static func policy(statement: String, notice: String) -> Self {
        let link = DERNode.sequence(OID.cpsQualifier.element, .ia5String(statement))
        let text = DERNode.sequence(
            OID.userNoticeQualifier.element, .sequence(.utf8String(notice)))
        let information = DERNode.sequence(OID.testPolicy.element, .sequence(link, text))
        return Self(identifier: .certificatePolicies, value: .sequence(information))
    }

    /// `uniformResourceIdentifier [6] IA5String`, a choice of `GeneralName`.
    private static func uri(_ address: String) -> DERNode {
        DERNode(.context(6), Array(address.utf8))
    }
}
