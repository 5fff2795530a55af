// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Signers that may not sign transaction receipts of this version.
extension TransactionReceiptForge {
    static let certificates: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "leaf-without-marker", .rejected(.leafMarkerMissing),
            "Apple issues certificates to every developer; only 1.2.840.113635.100.6.11.1 may sign.",
            .leaf { $0.remove(.receiptSigningMarker) }),
        TransactionReceiptFault(
            "intermediate-without-marker", .rejected(.intermediateMarkerMissing),
            "The leaf is right, and its authority serves another purpose.",
            .leaf { $0.issuer = TestNames.subordinate }),
        TransactionReceiptFault(
            "version-2-certificate-in-version-3", .rejected(.leafMarkerMissing), acceptsVersion2: true,
            "The weak certificate in a version that promises a strong one.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents, version: 3)
                receipt.certificate = forge.pki.storeLeaf.der
                return receipt
            }),
        TransactionReceiptFault(
            "version-2-key-in-version-3", .rejected(.keyTooSmall), acceptsVersion2: true,
            "A key of 1024 bits with the marker of version 3.",
            .receipt { forge in
                var receipt = forge.signed(version: 3, by: .shortLeaf)
                receipt.signature = [UInt8](repeating: 0, count: 128) + receipt.signature
                return receipt
            }),
        TransactionReceiptFault(
            "version-3-certificate-in-version-2", .rejected(.leafMarkerMissing), acceptsVersion2: true,
            "Version 2 has its own authority; its rules never apply to other certificates.",
            .receipt { forge in
                var receipt = forge.pki.receipt(forge.contents, version: 2)
                receipt.certificate = forge.pki.receipts.leaf.der
                return receipt
            }),
        TransactionReceiptFault(
            "version-3-key-in-version-2", .rejected(.signatureInvalid), acceptsVersion2: true,
            "Half of a signature: one is as long as its key (RFC 8017 §8.2.2).",
            .receipt { $0.withStrongKeyInVersion2 }),
        TransactionReceiptFault(
            "version-2-leaf-under-other-authority", .rejected(.intermediateMarkerMissing), acceptsVersion2: true,
            "The markers of version 2 belong together.",
            .receipt { forge in
                forge.signed(version: 2, by: .storeLeaf) { $0.replaceMarker(.storeReceiptSigningMarker) }
            }),
        TransactionReceiptFault(
            "other-authoritys-leaf", .rejected(.certificateSignatureInvalid),
            "The same names and markers, other keys: names prove nothing.",
            .receipt { $0.signed(by: .attackerLeaf, issuer: .attackerIntermediate) }),
        TransactionReceiptFault(
            "unknown-authoritys-leaf", .rejected(.issuerCertificateMissing),
            "No intermediate has the issuer's name; a verifier must not fetch one.",
            .leaf { $0.issuer = TestNames.bystander }),
        TransactionReceiptFault(
            "leaf-issued-by-root", .rejected(.issuerCertificateMissing), "Apple's roots issue no leaves.",
            .receipt { $0.signed(by: .leaf, issuer: .root) { $0.issuer = TestNames.root } }),
        TransactionReceiptFault(
            "leaf-issued-by-leaf", .rejected(.issuerCertificateMissing),
            "The holder of a leaf could issue further leaves.",
            .receipt { $0.signed(by: .attackerLeaf, issuer: .leaf) { $0.issuer = TestNames.leaf } }),
        TransactionReceiptFault(
            "intermediate-as-signer", .rejected(.issuerCertificateMissing), "An authority does not sign receipts.",
            .receipt { forge in
                var receipt = forge.signed(by: .intermediate)
                receipt.certificate = forge.pki.receipts.intermediate.der
                return receipt
            }),
        TransactionReceiptFault(
            "leaf-is-ca", .rejected(.leafIsCA), "A leaf that may issue certificates could issue its own signers.",
            .leaf { $0.replace(with: .certificateAuthority()) }),
        TransactionReceiptFault(
            "leaf-may-not-sign", .rejected(.keyUsageViolation), "Its key usage allows encryption only.",
            .leaf { $0.replace(with: .keyUsage(.keyEncipherment)) }),
        TransactionReceiptFault(
            "leaf-exponent-3", .rejected(.exponentTooSmall),
            "With e = 3 sloppy padding checks let signatures be computed with pencil and paper.",
            .receipt { $0.signed(by: .smallExponentLeaf) }),
        TransactionReceiptFault(
            "purchase-after-leafs-end", .rejected(.certificateExpired),
            "A leaf signs nothing that is bought after its end.",
            .leaf { $0.validity = .init(UTCDate(2016, 1, 1), UTCDate(2024, 2, 20)) }),
        TransactionReceiptFault(
            "purchase-between-authorities", .rejected(.certificateNotYetValid),
            "A leaf older than its authority, and a purchase before that began.",
            .receipt { forge in
                var contents = forge.contents
                contents.purchaseDate = UTCDate(2014, 9, 1)
                return forge.signed(contents, by: .leaf) {
                    $0.validity = .init(UTCDate(2014, 6, 1), UTCDate(2036, 1, 1))
                }
            }),
    ]
}

extension CertificateTemplate {
    fileprivate mutating func replaceMarker(_ marker: OID) {
        remove(.receiptSigningMarker)
        extensions.append(.marker(marker))
    }
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
