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

/// The random events of one customer, in their order: a subscription from its first purchase on, and single purchases.
///
/// The dates of signing increase from event to event. Periods are five minutes, as in the sandbox.
///
/// ```swift
/// let history = CustomerStory(seed: 7, events: 20)
/// var generator = SplitMix64(seed: 8)
/// let deliveries = history.events.shuffled(using: &generator).map { $0.jws(signedBy: pki) }
/// ```
package struct CustomerStory: Sendable, Hashable {
    /// At least one event: the first purchase.
    package let events: [NotifiedEvent]
    /// The original transaction ID of the subscription.
    package let originalTransactionID: String

    /// - Parameters:
    ///   - seed: the number that everything follows from.
    ///   - count: the number of events, at least one.
    ///   - environment: `Sandbox` or `Production`.
    package init(
        seed: UInt64, events count: Int, bundleID: String = "com.example.forge", environment: String = "Sandbox"
    ) {
        var customer = NotifiedCustomer(
            bundleID: bundleID, environment: environment, SplitMix64(seed: seed, purpose: "notifications"))
        events = (0..<max(1, count)).map { _ in customer.nextEvent() }
        originalTransactionID = customer.originalTransactionID
    }

    /// Returns the notifications in the order of their events, around signed parts, not yet signed themselves.
    package func notifications(signedBy pki: TransactionPKI) -> [NotificationContents] {
        events.map { $0.contents(signedBy: pki) }
    }
}

extension CustomerStory {
    /// The claims that hold in the end: the last claims about each transaction, by transaction ID.
    package var finalTransactions: [String: TransactionContents] {
        Dictionary(events.map { ($0.transaction.transactionID ?? "", $0.signedTransaction) }) { _, last in last }
    }

    /// The last event about the subscription. Its renewal info and status hold in the end.
    package var finalState: NotifiedEvent? { events.last { $0.renewalInfo != nil } }

    /// The date of the last signature.
    package var end: Timestamp { events[events.count - 1].signedDate }
}
