// SPDX-License-Identifier: Apache-2.0

/// Odd but genuine transaction receipts: rejecting any of these rejects paying customers.
extension TransactionReceiptForge {
    static let legitimate: [TransactionReceiptFault] = [
        .genuine("version-3").receipt { $0.pki.receipt($0.contents, version: 3) }
            .because("The same keys, and SHA-1: Apple's form until 2023."),
        .genuine("version-2-accepted").acceptingVersion2.receipt { $0.pki.receipt($0.contents, version: 2) }
            .because("RSA-1024 and SHA-1, under the intermediate of that time: accepted by those who ask for it."),
        .genuine("unsigned-environment-changed").afterSigning { $0.unsignedMembers[0].value = "Production" }
            .because("The environment is not signed, so it proves nothing and breaks nothing."),
        .genuine("unsigned-members-missing").afterSigning { $0.unsignedMembers = [] }
            .because("Only the signature and the purchase information are required."),
        .genuine("unknown-members").members { $0.append("later", "") }
            .because("Apple may add members that are not signed."),
        .genuine("members-in-another-order").members { $0.members.reverse() }
            .because("A dictionary has no order."),
        .genuine("other-white-space")
            .bytes { Array($0.wellFormedText.replacing(" = ", with: "\r\n=\t").replacing(";\n", with: " ; ").utf8) }
            .because("The outer property list is not signed, and white space has no meaning."),
        .genuine("base64-with-line-breaks")
            .members { list in
                for name in ["signature", "purchase-info"] {
                    list.edit(name) { $0 = Base64Encoder.lines($0, width: 76) }
                }
            }
            .because("White space in base64 has no meaning, here as elsewhere."),
        .genuine("unknown-fields")
            .fields { fields in
                fields.append("later", "1")
                fields.append("empty", "")
            }
            .because("Apple adds fields without notice; unknown ones are kept, not rejected."),
        .genuine("escaped-version").fields { $0.replace("bvrs", with: #"1.0 \"\U03b2\" β \\ \Ud83d\Ude00"#) }
            .because("A developer chooses the version of an app; quotes and letters beyond ASCII are escaped."),
        .genuine("optional-fields-missing")
            .fields { fields in
                let required = ["bid", "product-id", "transaction-id", "purchase-date-ms"]
                fields.members.removeAll { !required.contains($0.name) }
            }
            .because("Only the app, the product, the transaction and the purchase date are required."),
        .genuine("optional-fields-empty")
            .fields { fields in
                for name in ["bvrs", "expires-date", "quantity", "web-order-line-item-id"] {
                    fields.replace(name, with: "")
                }
            }
            .because("An empty text means absent, as in app receipts."),
        .genuine("optional-fields-present").contents { $0.fillOptionalFields() }
            .because("A refund, an offer and the numbers of the app."),
        .genuine("purchase-before-leaf")
            .contents { contents in
                contents.purchaseDate = UTCDate(2011, 3, 1)
                contents.originalPurchaseDate = UTCDate(2010, 3, 1)
            }
            .because("Restored purchases are signed again, with the certificate of that day."),
    ]
}

extension TransactionReceiptContents {
    fileprivate mutating func fillOptionalFields() {
        purchase.cancellationDate = purchase.purchaseDate.advanced(byDays: 3)
        appItemID = "900000001"
        versionExternalIdentifier = "800000001"
        purchase.isTrialPeriod = true
        purchase.isInIntroOfferPeriod = false
        purchase.quantity = 3
    }
}

extension TransactionReceiptForge {
    var wellFormedText: String { pki.receipt(contents).propertyList.text }
}
