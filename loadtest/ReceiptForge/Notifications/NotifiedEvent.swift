// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The event of a server notification of version 2, and the claims that it nests, before signing.
///
/// The transaction names the app, the environment and the subscription of all parts.
package struct NotifiedEvent: Sendable, Hashable {
    package var notificationType: String
    package var subtype: String?
    /// The notification's ID, which every delivery repeats.
    package var notificationUUID = "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01"
    /// The time of signing of all parts.
    package var signedDate = TransactionContents.signedByDefault
    package var transaction: TransactionContents
    /// Nil for a purchase that is no subscription.
    package var renewalInfo: RenewalInfoContents?
    /// The state of the subscription: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
    package var status: Int64?
    /// The app's number in the App Store, which only production has.
    package var appAppleID: Int64 = 1_234_567_890

    package init(
        _ notificationType: String, _ subtype: String? = nil, about transaction: TransactionContents,
        renewalInfo: RenewalInfoContents? = nil, status: Int64? = nil
    ) {
        self.notificationType = notificationType
        self.subtype = subtype
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.status = status
    }
}

extension NotifiedEvent {
    /// The claims of the transaction as they are signed.
    package var signedTransaction: TransactionContents {
        var signed = transaction
        signed.signedDate = signedDate
        return signed
    }

    /// The claims of the renewal info as they are signed.
    package var signedRenewalInfo: RenewalInfoContents? {
        guard var signed = renewalInfo else { return nil }
        signed.signedDate = signedDate
        signed.originalTransactionID = transaction.originalTransactionID
        signed.appTransactionID = transaction.appTransactionID
        signed.environment = transaction.environment
        return signed
    }

    /// Returns the notification around the signed parts, not yet signed itself.
    package func contents(signedBy pki: TransactionPKI) -> NotificationContents {
        var contents = NotificationContents()
        (contents.notificationType, contents.subtype) = (notificationType, subtype)
        (contents.notificationUUID, contents.signedDate) = (notificationUUID, signedDate)
        var data = NotificationContents.AppData()
        data.appAppleID = transaction.environment == "Production" ? appAppleID : nil
        data.bundleID = transaction.bundleID
        data.environment = transaction.environment
        data.signedTransactionInfo = String(decoding: pki.jws(signedTransaction), as: UTF8.self)
        data.signedRenewalInfo = signedRenewalInfo.map { String(decoding: pki.jws($0), as: UTF8.self) }
        data.status = status
        contents.data = data
        return contents
    }

    /// Returns the `signedPayload`. Takes up to three ECDSA signatures.
    package func jws(signedBy pki: TransactionPKI) -> [UInt8] {
        pki.jws(contents(signedBy: pki))
    }
}
