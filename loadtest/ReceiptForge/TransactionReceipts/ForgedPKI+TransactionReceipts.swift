// SPDX-License-Identifier: Apache-2.0

/// The signers of transaction receipts, as in iOS 6. Versions 3 and 4 have the certificates of app receipts; version 2
/// has a leaf with a key of 1024 bits and an intermediate of its own, with other markers.
extension ForgedPKI {
    /// The intermediates, which transaction receipts do not carry.
    package var intermediatesPEM: String { intermediate.pem + storeIntermediate.pem }

    private var storeIntermediate: IssuedCertificate {
        CertificateTemplate.storeIntermediate(keys).signed(by: keys.key(for: .root))
    }

    var storeLeaf: IssuedCertificate {
        CertificateTemplate.storeLeaf(keys).signed(by: keys.key(for: .storeIntermediate))
    }

    /// Signs a transaction receipt.
    /// - Parameter version: 2, 3 or 4.
    /// - Returns: the property list.
    package func sign(_ contents: TransactionReceiptContents, version: UInt8 = 4) -> [UInt8] {
        receipt(contents, version: version).encoded
    }

    func receipt(
        _ contents: TransactionReceiptContents, purchaseInfo: [UInt8]? = nil, version: UInt8 = 4
    ) -> ForgedTransactionReceipt {
        ForgedTransactionReceipt(
            contents, purchaseInfo: purchaseInfo, version: version,
            by: keys.key(for: version == 2 ? .storeLeaf : .leaf),
            certificate: version == 2 ? storeLeaf.der : leaf.der)
    }
}

extension CertificateTemplate {
    fileprivate static func storeIntermediate(_ keys: KeyRing) -> Self {
        var template = intermediate(key: keys.key(for: .storeIntermediate), authority: keys.key(for: .root))
        template.serialNumber = Array("Forge Test Store".utf8)
        template.subject = TestNames.storeIntermediate
        template.replaceMarker(.worldwideDeveloperRelationsMarker, by: .storeIntermediateMarker)
        template.digest = .sha1
        return template
    }

    static func storeLeaf(_ keys: KeyRing) -> Self {
        var template = leaf(key: keys.key(for: .storeLeaf), authority: keys.key(for: .storeIntermediate))
        template.issuer = TestNames.storeIntermediate
        template.subject = TestNames.storeLeaf
        template.replaceMarker(.receiptSigningMarker, by: .storeReceiptSigningMarker)
        template.digest = .sha1
        return template
    }
}
