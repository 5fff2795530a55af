// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Chains with one wrong certificate, which its authority has signed nevertheless.
extension FaultForge {
    static let certificates: [ReceiptFault] = [
        ReceiptFault(
            "leaf-without-marker", .rejected(.leafMarkerMissing),
            "Apple issues certificates to every developer; only 1.2.840.113635.100.6.11.1 may sign receipts.",
            .chain { $0.leaf.remove(.receiptSigningMarker) }),
        ReceiptFault(
            "intermediate-without-marker", .rejected(.intermediateMarkerMissing),
            "Apple runs many intermediates; receipts come from those with 1.2.840.113635.100.6.2.1.",
            .chain { $0.intermediate.remove(.worldwideDeveloperRelationsMarker) }),
        ReceiptFault(
            "no-markers", .rejected(.leafMarkerMissing), "A perfectly valid chain for something else.",
            .chain {
                $0.leaf.remove(.receiptSigningMarker)
                $0.intermediate.remove(.worldwideDeveloperRelationsMarker)
            }),
        ReceiptFault(
            "leaf-expired", .rejected(.certificateExpired), "The leaf expired before the receipt was created.",
            .chain { $0.leaf.validity = .init(UTCDate(2016, 1, 1), UTCDate(2018, 1, 1)) }),
        ReceiptFault(
            "leaf-not-yet-valid", .rejected(.certificateNotYetValid),
            "The leaf became valid after the receipt was created: the receipt is backdated.",
            .chain { $0.leaf.validity = .init(UTCDate(2030, 1, 1), UTCDate(2036, 1, 1)) }),
        ReceiptFault(
            "intermediate-expired", .rejected(.certificateExpired),
            "The intermediate expired years before the receipt was created, far beyond any grace.",
            .chain { $0.intermediate.validity = .init(UTCDate(2015, 1, 1), UTCDate(2020, 1, 1)) }),
        ReceiptFault(
            "leaf-is-ca", .rejected(.leafIsCA), "A leaf that may issue certificates could issue its own signers.",
            .chain { $0.leaf.replace(with: .certificateAuthority()) }),
        ReceiptFault(
            "intermediate-is-no-ca", .rejected(.issuerNotCA), "An ordinary certificate in the place of the authority.",
            .chain { $0.intermediate.replace(with: .endEntity) }),
        ReceiptFault(
            "intermediate-may-not-sign-certificates", .rejected(.keyUsageViolation),
            "Its key usage allows revocation lists only (RFC 5280 §4.2.1.3).",
            .chain { $0.intermediate.replace(with: .keyUsage(.cRLSign)) }),
        ReceiptFault(
            "leaf-may-not-sign", .rejected(.keyUsageViolation), "Its key usage allows encryption only.",
            .chain { $0.leaf.replace(with: .keyUsage(.keyEncipherment)) }),
        ReceiptFault(
            "critical-extension-unknown", .rejected(.criticalExtensionUnknown),
            "RFC 5280 §4.2: a certificate with an unknown critical extension must be rejected.",
            .chain {
                $0.leaf.extensions.append(
                    CertificateExtension(identifier: .testExtension, isCritical: true, value: .null))
            }),
        ReceiptFault(
            "extension-twice", .rejected(.certificateMalformed),
            "Two basicConstraints that disagree; RFC 5280 §4.2 allows one of each.",
            .chain { $0.leaf.extensions.append(.certificateAuthority()) }),
        ReceiptFault(
            "certificate-month-13", .rejected(.certificateMalformed),
            "A validity that ends in a month that does not exist.",
            .chain { $0.leaf.validity.notAfter = DERNode(.utcTime, Array("361301000000Z".utf8)) }),
        ReceiptFault(
            "certificate-signed-with-md5", .rejected(.certificateSignatureAlgorithmUnsupported),
            "MD5 collisions have produced a working rogue authority before (2008).", .chain { $0.leaf.digest = .md5 }),
        ReceiptFault(
            "leaf-key-of-1024-bits", .rejected(.keyTooSmall), "RSA-1024 is within reach of a state.",
            .container { $0.signed(byLeafWithKey: .shortLeaf) }),
        ReceiptFault(
            "leaf-exponent-3", .rejected(.exponentTooSmall),
            "With e = 3 sloppy padding checks let signatures be computed with pencil and paper.",
            .container { $0.signed(byLeafWithKey: .smallExponentLeaf) }),
        ReceiptFault(
            "leaf-key-elliptic", .rejected(.keyAlgorithmMismatch), "A P-256 key under an RSA signature algorithm.",
            .chain { $0.leaf.subjectPublicKeyInfo = .basePoint(on: .prime256v1) }),
        ReceiptFault(
            "leaf-key-on-another-curve", .rejected(.curveUnsupported),
            "An elliptic key on secp256k1, where Apple has none.",
            .chain { $0.leaf.subjectPublicKeyInfo = .basePoint(on: .secp256k1) }),
        ReceiptFault(
            "leaf-key-for-pss-only", .rejected(.keyAlgorithmUnsupported),
            "A key for RSASSA-PSS signatures only (RFC 4055 §1.2).",
            .chain {
                $0.leaf.subjectPublicKeyInfo = .sequence(.sequence(OID.rsassaPSS.element), .bitString([]))
            }),
        ReceiptFault(
            "certificate-signature-flipped", .rejected(.certificateSignatureInvalid),
            "One bit of the intermediate's signature on the leaf is wrong.",
            .afterSigning { $0.certificates[0].der[$0.certificates[0].der.count - 1] ^= 1 }),
    ]
}

extension FaultForge {
    fileprivate func signed(byLeafWithKey role: KeyRole) -> SignedDataTemplate {
        signed(underChain: Chain(keys: pki.keys, roles: Chain.Roles(leaf: role)))
    }
}

extension DERNode {
    /// The base point of P-256 (SEC 2 §2.4.2), uncompressed: the public key to the private key 1, and on no other
    /// curve.
    fileprivate static func basePoint(on curve: OID) -> DERNode {
        let x: [UInt64] = [0x6B17_D1F2_E12C_4247, 0xF8BC_E6E5_63A4_40F2, 0x7703_7D81_2DEB_33A0, 0xF4A1_3945_D898_C296]
        let y: [UInt64] = [0x4FE3_42E2_FE1A_7F9B, 0x8EE7_EB4A_7C0F_9E16, 0x2BCE_3357_6B31_5ECE, 0xCBB6_4068_37BF_51F5]
        let bytes = (x + y).flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        let algorithm = AlgorithmIdentifier(.ecPublicKey, parameters: curve.element)
        return .sequence(algorithm.element, .bitString([0x04] + bytes))
    }
}
