// SPDX-License-Identifier: Apache-2.0

/// Applies faults to one sample transaction receipt.
package struct TransactionReceiptForge: FaultApplying {
    package static let faults = legitimate + propertyLists + signatureBlobs + certificates + signatures + fields

    /// The authority that a verifier under test must trust.
    package let pki: ForgedPKI
    /// The contents of the sample: the second period of a subscription.
    package let contents: TransactionReceiptContents

    package init(pki: ForgedPKI) {
        self.pki = pki
        contents = .faultSample
    }

    package var wellFormed: [UInt8] { pki.sign(contents) }

    /// The intermediates of the PKI, and an intermediate without a marker, which a verifier must know to find its
    /// fault.
    package var intermediatesPEM: String { pki.intermediatesPEM + unmarkedIntermediate.pem }

    package var ordinary: [UInt8] { wellFormed }
}

/// The steps at which a fault makes its difference. All later steps are correct.
extension TransactionReceiptFault {
    /// The property list that a client would send, after base64.
    func bytes(_ make: @escaping Make<TransactionReceiptForge, [UInt8]>) -> Self { evidence(make) }

    /// A receipt made from scratch.
    func receipt(_ make: @escaping Make<TransactionReceiptForge, ForgedTransactionReceipt>) -> Self {
        bytes { make($0).encoded }
    }

    /// The contents, before signing.
    func contents(_ edit: @escaping Edit<TransactionReceiptContents>) -> Self {
        evidence {
            $0.pki.sign($0.edited($0.contents, by: edit))
        } reading: {
            $0.edited($0.contents, by: edit)
        }
    }

    /// The fields of `purchase-info`, before signing.
    func fields(_ edit: @escaping Edit<ForgedPropertyList>) -> Self {
        evidence {
            $0.pki.receipt($0.contents, purchaseInfo: $0.edited($0.contents.purchaseInfo, by: edit).encoded).encoded
        } reading: { _ in
            nil
        }
    }

    /// The bytes of `purchase-info`, before signing.
    func purchaseInfo(_ edit: @escaping Edit<[UInt8]>) -> Self {
        receipt { $0.pki.receipt($0.contents, purchaseInfo: $0.edited($0.contents.purchaseInfo.encoded, by: edit)) }
    }

    /// The signer's certificate, before its authority signs it.
    func leaf(_ edit: @escaping Edit<CertificateTemplate>) -> Self { receipt { $0.signed(by: .leaf, leaf: edit) } }

    /// The parts of the finished receipt.
    func afterSigning(version: UInt8 = 4, _ edit: @escaping Edit<ForgedTransactionReceipt>) -> Self {
        afterSigning(version: version) { receipt, _ in edit(&receipt) }
    }

    func afterSigning(
        version: UInt8 = 4,
        _ edit: @escaping @Sendable (inout ForgedTransactionReceipt, TransactionReceiptForge) -> Void
    ) -> Self {
        receipt { forge in forge.edited(forge.pki.receipt(forge.contents, version: version)) { edit(&$0, forge) } }
    }

    /// The members of the finished receipt.
    func members(_ edit: @escaping Edit<ForgedPropertyList>) -> Self {
        bytes { $0.edited($0.pki.receipt($0.contents).propertyList, by: edit).encoded }
    }
}

extension TransactionReceiptForge {
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
        contents.webOrderLineItemID = 1_000_000_000_000_100
        return contents
    }()
}
