// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Chains with one wrong certificate, which its authority has signed nevertheless.
extension FaultForge {
    static let certificates: [ReceiptFault] = [
        .rejected("leaf-without-marker", .leafMarkerMissing).chain { $0.leaf.remove(.receiptSigningMarker) }
            .because("Apple issues certificates to every developer; only 1.2.840.113635.100.6.11.1 may sign receipts."),
        .rejected("intermediate-without-marker", .intermediateMarkerMissing)
            .chain { $0.intermediate.remove(.worldwideDeveloperRelationsMarker) }
            .because("Apple runs many intermediates; receipts come from those with 1.2.840.113635.100.6.2.1."),
        .rejected("no-markers", .leafMarkerMissing)
            .chain {
                $0.leaf.remove(.receiptSigningMarker)
                $0.intermediate.remove(.worldwideDeveloperRelationsMarker)
            }
            .because("A perfectly valid chain for something else."),
        .rejected("leaf-expired", .certificateExpired)
            .chain { $0.leaf.validity = .init(UTCDate(2016, 1, 1), UTCDate(2018, 1, 1)) }
            .because("The leaf expired before the receipt was created."),
        .rejected("leaf-not-yet-valid", .certificateNotYetValid)
            .chain { $0.leaf.validity = .init(UTCDate(2030, 1, 1), UTCDate(2036, 1, 1)) }
            .because("The leaf became valid after the receipt was created: the receipt is backdated."),
        .rejected("intermediate-expired", .certificateExpired)
            .chain { $0.intermediate.validity = .init(UTCDate(2015, 1, 1), UTCDate(2020, 1, 1)) }
            .because("The intermediate expired years before the receipt was created, far beyond any grace."),
        .rejected("leaf-is-ca", .leafIsCA).chain { $0.leaf.replace(with: .certificateAuthority()) }
            .because("A leaf that may issue certificates could issue its own signers."),
        .rejected("intermediate-is-no-ca", .issuerNotCA).chain { $0.intermediate.replace(with: .endEntity) }
            .because("An ordinary certificate in the place of the authority."),
        .rejected("intermediate-may-not-sign-certificates", .keyUsageViolation)
            .chain { $0.intermediate.replace(with: .keyUsage(.cRLSign)) }
            .because("Its key usage allows revocation lists only (RFC 5280 §4.2.1.3)."),
        .rejected("leaf-may-not-sign", .keyUsageViolation).chain { $0.leaf.replace(with: .keyUsage(.keyEncipherment)) }
            .because("Its key usage allows encryption only."),
        .rejected("critical-extension-unknown", .criticalExtensionUnknown)
            .chain {
                $0.leaf.extensions.append(
                    CertificateExtension(identifier: .testExtension, isCritical: true, value: .null))
            }
            .because("RFC 5280 §4.2: a certificate with an unknown critical extension must be rejected."),
        .rejected("extension-twice", .certificateMalformed).chain { $0.leaf.extensions.append(.certificateAuthority()) }
            .because("Two basicConstraints that disagree; RFC 5280 §4.2 allows one of each."),
        .rejected("certificate-month-13", .certificateMalformed)
            .chain { $0.leaf.validity.notAfter = DERNode(.utcTime, Array("361301000000Z".utf8)) }
            .because("A validity that ends in a month that does not exist."),
        .rejected("certificate-signed-with-md5", .certificateSignatureAlgorithmUnsupported)
            .chain { $0.leaf.digest = .md5 }
            .because("MD5 collisions have produced a working rogue authority before (2008)."),
        .rejected("leaf-key-of-1024-bits", .keyTooSmall).container { $0.signed(byLeafWithKey: .shortLeaf) }
            .because("RSA-1024 is within reach of a state."),
        .rejected("leaf-exponent-3", .exponentTooSmall).container { $0.signed(byLeafWithKey: .smallExponentLeaf) }
            .because("With e = 3 sloppy padding checks let signatures be computed with pencil and paper."),
        .rejected("leaf-key-elliptic", .keyAlgorithmMismatch)
            .chain { $0.leaf.subjectPublicKeyInfo = .ellipticKey(P256.basePoint, on: OID.prime256v1.element) }
            .because("A P-256 key under an RSA signature algorithm."),
        .rejected("leaf-key-on-another-curve", .curveUnsupported)
            .chain { $0.leaf.subjectPublicKeyInfo = .ellipticKey(P256.basePoint, on: OID.secp256k1.element) }
            .because("An elliptic key on secp256k1, where Apple has none."),
        .rejected("leaf-key-for-pss-only", .keyAlgorithmUnsupported)
            .chain { $0.leaf.subjectPublicKeyInfo = .sequence(.sequence(OID.rsassaPSS.element), .bitString([])) }
            .because("A key for RSASSA-PSS signatures only (RFC 4055 §1.2)."),
        .rejected("certificate-signature-flipped", .certificateSignatureInvalid)
            .afterSigning { $0.certificates[0].der[$0.certificates[0].der.count - 1] ^= 1 }
            .because("One bit of the intermediate's signature on the leaf is wrong."),
    ]
}

extension FaultForge {
    fileprivate func signed(byLeafWithKey role: KeyRole) -> SignedDataTemplate {
        signed(underChain: Chain(pki.keys, leaf: role))
    }
}
