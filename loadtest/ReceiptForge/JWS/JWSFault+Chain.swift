// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Chains with a wrong leaf.
extension JWSForge {
    static let leaves: [JWSFault] = [
        .rejected("leaf-without-marker", .leafMarkerMissing).chain { $0.leaf.remove(.receiptSigningMarker) }
            .because(
                "Apple certifies every developer below the same root; only 1.2.840.113635.100.6.11.1 may sign transactions."
            ),
        .rejected("leaf-key-rsa", .keyAlgorithmMismatch)
            .chain { $0.leaf.subjectPublicKeyInfo = $1.keys.key(for: .leaf).subjectPublicKeyInfo }
            .because("A certified RSA key under a header that says ES256."),
        .rejected("leaf-key-p384", .keyAlgorithmMismatch)
            .chain { $0.leaf.subjectPublicKeyInfo = $1.p384Leaf.subjectPublicKeyInfo }
            .because("A certified key on P-384; RFC 7518 §3.4 makes ES256 with P-256 alone."),
        .rejected("leaf-with-explicit-curve", .curveUnsupported)
            .chain { $0.leaf.subjectPublicKeyInfo = .explicitP256(point: $1.point) }
            .because("P-256 written out by its parameters, which RFC 5480 §2.1.1 forbids."),
        .rejected("leaf-with-base-point-of-choice", .curveUnsupported)
            .chain { $0.leaf.subjectPublicKeyInfo = .explicitP256(point: $1.point, base: $1.point) }
            .because("The key itself as base point, so that its private key is 1 (CVE-2020-0601)."),
        .rejected("leaf-point-compressed", .certificateMalformed)
            .chain { $0.leaf.subjectPublicKeyInfo = .compressedP256(point: $1.point) }
            .because("The short form of a point (RFC 5480 §2.2), which Apple never uses."),
        .rejected("leaf-is-ca", .leafIsCA).chain { $0.leaf.replace(with: .certificateAuthority()) }
            .because("A leaf that may issue certificates could issue its own signers."),
        .rejected("leaf-may-not-sign", .keyUsageViolation).chain { $0.leaf.replace(with: .keyUsage(.keyEncipherment)) }
            .because("Its key usage allows encryption only."),
        .rejected("leaf-signature-flipped", .certificateSignatureInvalid)
            .certificates { forge in forge.edited(forge.x5c) { $0[0][$0[0].count - 1] ^= 1 } }
            .because("One bit of the intermediate's signature on the leaf is wrong."),
    ]
}

extension DERNode {
    /// `ECParameters ::= SEQUENCE { version, fieldID, curve, base, order, cofactor }` (X9.62; SEC 1 appendix C.2)
    fileprivate static func explicitP256(point: [UInt8], base: [UInt8] = P256.basePoint) -> DERNode {
        let field = sequence(OID.primeField.element, .integer(magnitude: P256.prime))
        let curve = sequence(.octetString(P256.a), .octetString(P256.b))
        let parameters = sequence(
            .integer(1), field, curve, .octetString(base), .integer(magnitude: P256.order), .integer(1))
        return .ellipticKey(point, on: parameters)
    }

    fileprivate static func compressedP256(point: [UInt8]) -> DERNode {
        let sign: UInt8 = point[64] % 2 == 0 ? 0x02 : 0x03
        return .ellipticKey([sign] + point[1...32], on: OID.prime256v1.element)
    }
}

extension OID {
    fileprivate static let primeField: OID = [1, 2, 840, 10045, 1, 1]
}

/// The numbers of P-256 (SEC 2 §2.4.2), most significant byte first.
enum P256 {
    static let prime = bytes(0xFFFF_FFFF_0000_0001, 0, 0x0000_0000_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)
    static let a = bytes(0xFFFF_FFFF_0000_0001, 0, 0x0000_0000_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFC)
    static let b = bytes(0x5AC6_35D8_AA3A_93E7, 0xB3EB_BD55_7698_86BC, 0x651D_06B0_CC53_B0F6, 0x3BCE_3C3E_27D2_604B)
    /// The number of points.
    static let order = bytes(
        0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84, 0xF3B9_CAC2_FC63_2551)
    /// Uncompressed.
    static let basePoint =
        [0x04]
        + bytes(0x6B17_D1F2_E12C_4247, 0xF8BC_E6E5_63A4_40F2, 0x7703_7D81_2DEB_33A0, 0xF4A1_3945_D898_C296)
        + bytes(0x4FE3_42E2_FE1A_7F9B, 0x8EE7_EB4A_7C0F_9E16, 0x2BCE_3357_6B31_5ECE, 0xCBB6_4068_37BF_51F5)

    private static func bytes(_ words: UInt64...) -> [UInt8] {
        words.flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }
}

/// Chains whose issuers are wrong.
extension JWSForge {
    static let issuers: [JWSFault] = [
        .rejected("lookalike-chain", .anchorUntrusted).text { $0.stranger.jws($0.contents) }
            .because("The same names, serial numbers and markers, other keys: names prove nothing."),
        .rejected("lookalike-chain-under-genuine-root", .certificateSignatureInvalid)
            .stranger { $0.stranger.certificates.prefix(2).map(\.der) + [$0.x5c[2]] }
            .because(
                "A forged chain with the genuine root, which is public: its fingerprint is right, the signature is not."
            ),
        .rejected("lookalike-leaf-under-genuine-chain", .certificateSignatureInvalid)
            .stranger { [$0.stranger.certificates[0].der] + $0.x5c.dropFirst() }
            .because("A forged leaf with the genuine intermediate and root."),
        .rejected("intermediate-without-marker", .intermediateMarkerMissing)
            .chain { $0.intermediate.remove(.worldwideDeveloperRelationsMarker) }
            .because("An authority of Apple's for something else: CA:TRUE, but not 1.2.840.113635.100.6.2.1."),
        .rejected("intermediate-is-no-ca", .issuerNotCA).chain { $0.intermediate.replace(with: .endEntity) }
            .because("A marked certificate without CA:TRUE in the place of the authority."),
        .rejected("intermediate-with-explicit-curve", .curveUnsupported)
            .chain { $0.intermediate.subjectPublicKeyInfo = .explicitP256(point: $1.point, base: $1.point) }
            .because("The intermediate's curve written out, with a base point of choice (CVE-2020-0601)."),
        .rejected("developer-leaf-as-intermediate", .issuerCertificateMissing)
            .stranger { [$0.issuedByLeaf, $0.x5c[0], $0.x5c[2]] }
            .because(
                "A genuine leaf has issued a leaf, and the intermediate that could show it gives way to the root."),
        .rejected("developer-leaf-as-fourth", .x5cCountWrong).belowOperatorsRoot(.rejected(.intermediateMarkerMissing))
            .stranger { [$0.issuedByLeaf] + $0.x5c }
            .because("The same with the whole chain: a leaf below a leaf."),
        .rejected("developer-leaf-below-root", .issuerNotCA)
            .stranger { [$0.issuedByLeaf, $0.leafBelowRoot, $0.x5c[2]] }
            .because(
                "A leaf with both markers, which the root itself certified: only CA:FALSE forbids it to issue others."),
    ]
}

extension JWSFault {
    /// The stranger's signature below other certificates.
    fileprivate func stranger(_ certificates: @escaping Make<JWSForge, [[UInt8]]>) -> Self {
        text { $0.signed(JOSEHeader(certificates: certificates($0)), by: $0.stranger.sign).text }
    }
}

extension JWSForge {
    /// The public key of the genuine leaf.
    fileprivate var point: [UInt8] { pki.leafKey.point }

    /// A leaf with the stranger's key, which the holder of the genuine leaf's key signed.
    fileprivate var issuedByLeaf: [UInt8] {
        var template = CertificateTemplate.leaf(key: stranger.leafKey, authority: pki.leafKey)
        template.issuer = TestNames.leaf
        template.subject = TestNames.bystander
        return template.signed(by: pki.leafKey).der
    }

    fileprivate var leafBelowRoot: [UInt8] {
        var template = CertificateTemplate.leaf(key: pki.leafKey, authority: pki.rootKey)
        template.issuer = TestNames.root
        template.extensions.append(.marker(.worldwideDeveloperRelationsMarker))
        return template.signed(by: pki.rootKey, .sha384).der
    }
}
