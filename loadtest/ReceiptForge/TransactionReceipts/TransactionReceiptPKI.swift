// SPDX-License-Identifier: Apache-2.0

/// The hierarchy that signs transaction receipts, as in iOS 6. Versions 3 and 4 have the certificates of app receipts;
/// version 2 has a leaf with a key of 1024 bits and an intermediate of its own, with other markers.
package struct TransactionReceiptPKI: Sendable {
    /// The authority of app receipts, whose root and whose keys these are.
    package let receipts: ForgedPKI
    let storeIntermediate: IssuedCertificate
    let storeLeaf: IssuedCertificate

    /// Creates the keys, about a tenth of a second each, and their certificates.
    package init(seed: UInt64) {
        self.init(below: ForgedPKI(seed: seed))
    }

    /// Adds the certificates of version 2 to the certificates of app receipts.
    package init(below receipts: ForgedPKI) {
        self.receipts = receipts
        let keys = receipts.keys
        storeIntermediate = CertificateTemplate.storeIntermediate(keys).signed(by: keys.key(for: .root))
        storeLeaf = CertificateTemplate.storeLeaf(keys).signed(by: keys.key(for: .storeIntermediate))
    }

    /// The self-signed root, which a verifier must trust. Valid 2014 to 2044.
    package var root: IssuedCertificate { receipts.root }

    package var rootPEM: String { root.pem }

    /// The intermediates, which transaction receipts do not carry.
    package var intermediatesPEM: String { receipts.intermediate.pem + storeIntermediate.pem }

    var keys: KeyRing { receipts.keys }

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
            certificate: version == 2 ? storeLeaf.der : receipts.leaf.der)
    }
}

extension ForgedPKI {
    /// Signs a transaction receipt of version 4, with the certificates of app receipts.
    /// - Returns: the property list.
    package func sign(_ contents: TransactionReceiptContents) -> [UInt8] {
        ForgedTransactionReceipt(contents, version: 4, by: keys.key(for: .leaf), certificate: leaf.der).encoded
    }
}

extension CertificateTemplate {
    static func storeIntermediate(_ keys: KeyRing) -> Self {
        var template = intermediate(key: keys.key(for: .storeIntermediate), authority: keys.key(for: .root))
        template.serialNumber = Array("Forge Test Store".utf8)
        template.subject = TestNames.storeIntermediate
        template.remove(.worldwideDeveloperRelationsMarker)
        template.extensions.append(.marker(.storeIntermediateMarker))
        template.digest = .sha1
        return template
    }

    static func storeLeaf(_ keys: KeyRing) -> Self {
        var template = leaf(key: keys.key(for: .storeLeaf), authority: keys.key(for: .storeIntermediate))
        template.issuer = TestNames.storeIntermediate
        template.subject = TestNames.storeLeaf
        template.remove(.receiptSigningMarker)
        template.extensions.append(.marker(.storeReceiptSigningMarker))
        template.digest = .sha1
        return template
    }
}
