// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one sample transaction receipt.
package struct TransactionReceiptForge: FaultApplying {
    package enum Recipe: Sendable {
        case bytes(@Sendable (TransactionReceiptForge) -> [UInt8])
        /// A receipt made from scratch.
        case receipt(@Sendable (TransactionReceiptForge) -> ForgedTransactionReceipt)
        /// The contents, before signing.
        case contents(@Sendable (inout TransactionReceiptContents) -> Void)
        /// The fields of `purchase-info`, before signing.
        case fields(@Sendable (inout ForgedPropertyList) -> Void)
        /// The bytes of `purchase-info`, before signing.
        case purchaseInfo(@Sendable (inout [UInt8]) -> Void)
        /// The signer's certificate, before its authority signs it.
        case leaf(@Sendable (inout CertificateTemplate) -> Void)
        /// The parts of the finished receipt.
        case afterSigning(@Sendable (inout ForgedTransactionReceipt) -> Void)
        /// The members of the finished receipt.
        case members(@Sendable (inout ForgedPropertyList) -> Void)
    }

    package static let faults = legitimate + propertyLists + signatureBlobs + certificates + signatures + fields

    /// The authority that a verifier under test must trust.
    package let pki: TransactionReceiptPKI
    /// The contents of the sample: the second period of a subscription.
    package let contents: TransactionReceiptContents

    package init(pki: TransactionReceiptPKI) {
        self.pki = pki
        contents = .faultSample
    }

    package var wellFormed: [UInt8] { pki.sign(contents) }

    /// The intermediates of the PKI, and an intermediate without a marker, which a verifier must know to find its
    /// fault.
    package var intermediatesPEM: String { pki.intermediatesPEM + unmarkedIntermediate.pem }

    /// Returns the property list that a client would send with this fault, after base64.
    package func receipt(with fault: TransactionReceiptFault) -> [UInt8] {
        switch fault.recipe {
        case .bytes(let make): make(self)
        case .receipt(let make): make(self).encoded
        case .contents(let edit): pki.sign(edited(contents, by: edit))
        case .fields(let edit): signed(edited(contents.purchaseInfo, by: edit).encoded).encoded
        case .purchaseInfo(let edit): signed(edited(contents.purchaseInfo.encoded, by: edit)).encoded
        case .leaf(let edit): signed(by: .leaf, leaf: edit).encoded
        case .afterSigning(let edit): edited(pki.receipt(contents), by: edit).encoded
        case .members(let edit): edited(pki.receipt(contents).propertyList, by: edit).encoded
        }
    }

    /// Returns the contents that a verifier must read from a receipt with this fault; nil unless it is genuine, and if
    /// its fields are edited one by one.
    package func contents(with fault: TransactionReceiptFault) -> TransactionReceiptContents? {
        guard fault.expected == .genuine else { return nil }
        switch fault.recipe {
        case .contents(let edit): return edited(contents, by: edit)
        case .fields, .purchaseInfo: return nil
        case .bytes, .receipt, .leaf, .afterSigning, .members: return contents
        }
    }
}

extension TransactionReceiptForge {
    func signed(_ purchaseInfo: [UInt8]) -> ForgedTransactionReceipt {
        pki.receipt(contents, purchaseInfo: purchaseInfo)
    }

    /// The sample, signed with a key and its certificate for app receipts, which is edited before it is signed.
    func signed(
        _ contents: TransactionReceiptContents? = nil, version: UInt8 = 4, by signer: KeyRole,
        issuer: KeyRole = .intermediate, leaf edit: (inout CertificateTemplate) -> Void = { _ in }
    ) -> ForgedTransactionReceipt {
        let (key, authority) = (pki.keys.key(for: signer), pki.keys.key(for: issuer))
        let template = edited(CertificateTemplate.leaf(key: key, authority: authority), by: edit)
        return ForgedTransactionReceipt(
            contents ?? self.contents, version: version, by: key, certificate: template.signed(by: authority).der)
    }

    /// An authority below the root like the intermediate of app receipts, but for another purpose.
    var unmarkedIntermediate: IssuedCertificate {
        var template = CertificateTemplate.intermediate(
            key: pki.keys.key(for: .intermediate), authority: pki.keys.key(for: .root))
        template.subject = TestNames.subordinate
        template.remove(.worldwideDeveloperRelationsMarker)
        return template.signed(by: pki.keys.key(for: .root))
    }
}

extension TransactionReceiptContents {
    static let faultSample: TransactionReceiptContents = {
        let date = UTCDate(2024, 2, 29, 12, 30, 15)
        var contents = TransactionReceiptContents(
            bundleID: "com.example.forge", productID: "com.example.forge.monthly",
            transactionID: "1000000000000002", purchaseDate: date)
        contents.originalTransactionID = "1000000000000001"
        contents.originalPurchaseDate = date.advanced(byDays: -31)
        contents.expiresDate = date.advanced(byDays: 30)
        contents.webOrderLineItemID = "1000000000000100"
        return contents
    }()
}
