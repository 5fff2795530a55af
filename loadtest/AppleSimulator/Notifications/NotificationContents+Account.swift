// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

extension ServerAPI {
    /// Returns a notification about a transaction, with the transaction, its renewal and its status as they are now.
    func notification(
        _ kind: NotificationKind, aboutTransaction id: String, of view: CustomerView, uuid: String,
        signedAt date: Timestamp, _ context: CallContext
    ) -> NotificationContents {
        var contents = NotificationContents(kind, of: view.customer.app, uuid: uuid, signedAt: date)
        contents.data?.appAppleID = view.customer.appAppleID
        contents.data?.bundleVersion = view.customer.contents.applicationVersion
        if kind.type == "CONSUMPTION_REQUEST" {
            contents.data?.additionalMembers = #""consumptionRequestReason":"UNINTENDED_PURCHASE""#
        }
        if kind.type == "RESCIND_CONSENT" {
            let claims = AppTransactionContents(view.customer)
            let jws = signer.sign(claims, dating: \.receiptCreationDate, at: date, context)
            contents.setAppTransaction(jws, of: view.customer)
            return contents
        }
        guard let item = view.transaction(id) else { return contents }
        contents.data?.signedTransactionInfo = signer.sign(item.claims, dating: \.signedDate, at: date, context)
        let subscription = view.account.subscriptions.first {
            $0.newest.purchase.originalTransactionID == item.originalID
        }
        guard let subscription else { return contents }
        let renewal = RenewalInfoContents(subscription, of: view.customer)
        contents.data?.signedRenewalInfo = signer.sign(renewal, dating: \.signedDate, at: date, context)
        contents.data?.status = Int64(subscription.status(at: UTCDate(context.now)).rawValue)
        return contents
    }
}
