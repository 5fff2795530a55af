// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signers that may not sign transaction receipts of this version.
extension TransactionReceiptForge {
    static let certificates: [TransactionReceiptFault] = [
        .rejected("leaf-without-marker", .leafMarkerMissing).leaf { $0.remove(.receiptSigningMarker) }
            .because("Apple issues certificates to every developer; only 1.2.840.113635.100.6.11.1 may sign."),
        .rejected("intermediate-without-marker", .intermediateMarkerMissing).leaf { $0.issuer = TestNames.subordinate }
            .because("The leaf is right, and its authority serves another purpose."),
        .rejected("version-2-certificate-in-version-3", .leafMarkerMissing).acceptingVersion2
            .afterSigning(version: 3) { $0.certificate = $1.pki.storeLeaf.der }
            .because("The weak certificate in a version that promises a strong one."),
        .rejected("version-2-key-in-version-3", .keyTooSmall).acceptingVersion2
            .receipt { forge in
                forge.edited(forge.signed(version: 3, by: .shortLeaf)) {
                    $0.signature = [UInt8](repeating: 0, count: 128) + $0.signature
                }
            }
            .because("A key of 1024 bits with the marker of version 3."),
        .rejected("version-3-certificate-in-version-2", .leafMarkerMissing).acceptingVersion2
            .afterSigning(version: 2) { $0.certificate = $1.pki.leaf.der }
            .because("Version 2 has its own authority; its rules never apply to other certificates."),
        .rejected("version-3-key-in-version-2", .signatureInvalid).acceptingVersion2
            .receipt { $0.withStrongKeyInVersion2 }
            .because("Half of a signature: one is as long as its key (RFC 8017 §8.2.2)."),
        .rejected("version-2-leaf-under-other-authority", .intermediateMarkerMissing).acceptingVersion2
            .receipt { forge in
                forge.signed(version: 2, by: .storeLeaf) {
                    $0.replaceMarker(.receiptSigningMarker, by: .storeReceiptSigningMarker)
                }
            }
            .because("The markers of version 2 belong together."),
        .rejected("other-authoritys-leaf", .certificateSignatureInvalid)
            .receipt { $0.signed(by: .attackerLeaf, issuer: .attackerIntermediate) }
            .because("The same names and markers, other keys: names prove nothing."),
        .rejected("unknown-authoritys-leaf", .issuerCertificateMissing).leaf { $0.issuer = TestNames.bystander }
            .because("No intermediate has the issuer's name; a verifier must not fetch one."),
        .rejected("leaf-issued-by-root", .issuerCertificateMissing)
            .receipt { $0.signed(by: .leaf, issuer: .root) { $0.issuer = TestNames.root } }
            .because("Apple's roots issue no leaves."),
        .rejected("leaf-issued-by-leaf", .issuerCertificateMissing)
            .receipt { $0.signed(by: .attackerLeaf, issuer: .leaf) { $0.issuer = TestNames.leaf } }
            .because("The holder of a leaf could issue further leaves."),
        .rejected("intermediate-as-signer", .issuerCertificateMissing)
            .receipt { forge in
                forge.edited(forge.signed(by: .intermediate)) { $0.certificate = forge.pki.intermediate.der }
            }
            .because("An authority does not sign receipts."),
        .rejected("leaf-is-ca", .leafIsCA).leaf { $0.replace(with: .certificateAuthority()) }
            .because("A leaf that may issue certificates could issue its own signers."),
        .rejected("leaf-may-not-sign", .keyUsageViolation).leaf { $0.replace(with: .keyUsage(.keyEncipherment)) }
            .because("Its key usage allows encryption only."),
        .rejected("leaf-exponent-3", .exponentTooSmall).receipt { $0.signed(by: .smallExponentLeaf) }
            .because("With e = 3 sloppy padding checks let signatures be computed with pencil and paper."),
        .rejected("purchase-after-leafs-end", .certificateExpired)
            .leaf { $0.validity = .init(UTCDate(2016, 1, 1), UTCDate(2024, 2, 20)) }
            .because("A leaf signs nothing that is bought after its end."),
        .rejected("purchase-between-authorities", .certificateNotYetValid)
            .receipt { forge in
                let contents = forge.edited(forge.contents) { $0.purchaseDate = UTCDate(2014, 9, 1) }
                return forge.signed(contents, by: .leaf) {
                    $0.validity = .init(UTCDate(2014, 6, 1), UTCDate(2036, 1, 1))
                }
            }
            .because("A leaf older than its authority, and a purchase before that began."),
    ]
}

extension TransactionReceiptForge {
    /// A leaf of version 2 in all but its key, which has 2048 bits.
    fileprivate var withStrongKeyInVersion2: ForgedTransactionReceipt {
        let key = pki.keys.key(for: .leaf)
        var template = CertificateTemplate.storeLeaf(pki.keys)
        template.subjectPublicKeyInfo = key.subjectPublicKeyInfo
        let certificate = template.signed(by: pki.keys.key(for: .storeIntermediate))
        var receipt = ForgedTransactionReceipt(contents, version: 2, by: key, certificate: certificate.der)
        receipt.signature.removeLast(128)
        return receipt
    }
}
