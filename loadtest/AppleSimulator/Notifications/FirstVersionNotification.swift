// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOCore
internal import ReceiptForge
internal import Receipts

/// A notification of version 1: nothing in it is signed but the receipt.
struct FirstVersionNotification: Sendable {
    /// `notification_type`.
    let type: String
    let transactionID: String
    let view: CustomerView
    /// The app's shared secret; nil if the scenario has none.
    let password: String?
    /// An app receipt of this moment, in base64.
    let latestReceipt: String
    let date: Timestamp

    /// The most elements of `latest_receipt_info`.
    private static let maximumTransactions = 100

    var body: ByteBuffer {
        ByteBuffer(json: { json in
            json.member("notification_type", type)
            json.member("environment", view.customer.app.endpoint == .production ? "PROD" : "Sandbox")
            json.member("password", password)
            json.member("bid", view.customer.app.bundleID)
            json.member("bvrs", view.customer.contents.applicationVersion)
            json.member("original_transaction_id", view.transaction(transactionID)?.originalID)
            if let renewal { write(renewal, &json) }
            json.object("unified_receipt") { writeReceipt(&$0) }
        })
    }

    /// The renewal of the transaction's subscription; nil for a single item.
    private var renewal: SimulatedRenewal? {
        view.account.subscription(view.transaction(transactionID)?.originalID)?.renewal
    }

    private func write(_ renewal: SimulatedRenewal, _ json: inout JSONWriter) {
        json.member("auto_renew_adam_id", String(CustomerIDs.appAppleID(of: renewal.nextProductID)))
        json.member("auto_renew_product_id", renewal.nextProductID)
        json.member("auto_renew_status", renewal.isOn ? "true" : "false")
        if type == "DID_CHANGE_RENEWAL_STATUS" { json.member("auto_renew_status_change_date", UTCDate.exact(date)) }
        json.member("expiration_intent", renewal.expirationIntent.map(Int64.init))
    }

    private func writeReceipt(_ json: inout JSONWriter) {
        let listed = view.account.transactions(excludingOld: false).sorted { SimulatedTransaction.isOlder($1, $0) }
        json.member("status", 0)
        json.member("environment", view.customer.app.environment)
        json.member("latest_receipt", latestReceipt)
        json.objects("latest_receipt_info", of: listed.prefix(Self.maximumTransactions)) { $0.members(of: $1) }
        json.objects("pending_renewal_info", of: view.account.renewals ?? []) { $0.members(of: $1) }
    }
}
