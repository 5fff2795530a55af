// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Odd but genuine transaction receipts: rejecting any of these rejects paying customers.
extension TransactionReceiptForge {
    static let legitimate: [TransactionReceiptFault] = [
        TransactionReceiptFault(
            "version-3", .genuine, "The same keys, and SHA-1: Apple's form until 2023.",
            .receipt { $0.pki.receipt($0.contents, version: 3) }),
        TransactionReceiptFault(
            "version-2-accepted", .genuine, acceptsVersion2: true,
            "RSA-1024 and SHA-1, under the intermediate of that time: accepted by those who ask for it.",
            .receipt { $0.pki.receipt($0.contents, version: 2) }),
        TransactionReceiptFault(
            "unsigned-environment-changed", .genuine,
            "The environment is not signed, so it proves nothing and breaks nothing.",
            .afterSigning { $0.unsignedMembers[0].value = "Production" }),
        TransactionReceiptFault(
            "unsigned-members-missing", .genuine, "Only the signature and the purchase information are required.",
            .afterSigning { $0.unsignedMembers = [] }),
        TransactionReceiptFault(
            "unknown-members", .genuine, "Apple may add members that are not signed.",
            .members { $0.append("later", "") }),
        TransactionReceiptFault(
            "members-in-another-order", .genuine, "A dictionary has no order.", .members { $0.members.reverse() }),
        TransactionReceiptFault(
            "other-white-space", .genuine, "The outer property list is not signed, and white space has no meaning.",
            .bytes { Array($0.wellFormedText.replacing(" = ", with: "\r\n=\t").replacing(";\n", with: " ; ").utf8) }),
        TransactionReceiptFault(
            "base64-with-line-breaks", .genuine, "White space in base64 has no meaning, here as elsewhere.",
            .members { list in
                for name in ["signature", "purchase-info"] {
                    list.edit(name) { $0 = Base64Encoder.lines($0, width: 76) }
                }
            }),
        TransactionReceiptFault(
            "unknown-fields", .genuine, "Apple adds fields without notice; unknown ones are kept, not rejected.",
            .fields { fields in
                fields.append("later", "1")
                fields.append("empty", "")
            }),
        TransactionReceiptFault(
            "escaped-version", .genuine,
            "A developer chooses the version of an app; quotes and letters beyond ASCII are escaped.",
            .fields { $0.replace("bvrs", with: #"1.0 \"\U03b2\" β \\ \Ud83d\Ude00"#) }),
        TransactionReceiptFault(
            "optional-fields-missing", .genuine,
            "Only the app, the product, the transaction and the purchase date are required.",
            .fields { fields in
                let required = ["bid", "product-id", "transaction-id", "purchase-date-ms"]
                fields.members.removeAll { !required.contains($0.name) }
            }),
        TransactionReceiptFault(
            "optional-fields-empty", .genuine, "An empty text means absent, as in app receipts.",
            .fields { fields in
                for name in ["bvrs", "expires-date", "quantity", "web-order-line-item-id"] {
                    fields.replace(name, with: "")
                }
            }),
        TransactionReceiptFault(
            "optional-fields-present", .genuine, "A refund, an offer and the numbers of the app.",
            .contents { $0.fillOptionalFields() }),
        TransactionReceiptFault(
            "purchase-before-leaf", .genuine, "Restored purchases are signed again, with the certificate of that day.",
            .contents { contents in
                contents.purchaseDate = UTCDate(2011, 3, 1)
                contents.originalPurchaseDate = UTCDate(2010, 3, 1)
            }),
    ]
}

extension TransactionReceiptContents {
    fileprivate mutating func fillOptionalFields() {
        cancellationDate = purchaseDate.advanced(byDays: 3)
        appItemID = "900000001"
        versionExternalIdentifier = "800000001"
        isTrialPeriod = true
        isInIntroOfferPeriod = false
        quantity = 3
    }
}

extension TransactionReceiptForge {
    var wellFormedText: String { pki.receipt(contents).propertyList.text }
}
