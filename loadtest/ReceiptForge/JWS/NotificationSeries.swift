// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Notifications about the subscriptions of one app, numbered from 0 in the order in which they are signed, one
/// notification in each millisecond.
///
/// Each has a UUID of its own, a transaction and a renewal info. Customers take turns. Each subscribes, and then renews,
/// disables and enables the renewal again and again.
package struct NotificationSeries: Sendable {
    /// The number of customers. Each has one subscription.
    package let customers: Int
    package let bundleID: String
    /// `Production` or `Sandbox`.
    package let environment: String
    private let firstSignedDate: Timestamp
    private let seed: UInt64

    /// The original transaction ID of the first customer. The next customer's ID is greater by `stride`.
    package static let firstTransactionID: Int64 = 2_000_001_000_000_000
    /// The distance of two customers' original transaction IDs. The IDs of a customer's later periods follow the
    /// original ID.
    package static let stride: Int64 = 1_000_000

    /// - Parameters:
    ///   - customers: at least 1.
    ///   - firstSignedDate: the time of signing of the first notification. Another time gives other UUIDs.
    package init(
        customers: Int, bundleID: String, environment: String = "Production", from firstSignedDate: Timestamp,
        seed: UInt64
    ) {
        precondition(customers > 0, "a notification is about a customer")
        self.customers = customers
        self.bundleID = bundleID
        self.environment = environment
        self.firstSignedDate = firstSignedDate
        self.seed = seed
    }

    /// Returns a notification as a JWS. Takes three ECDSA signatures.
    package func notification(_ number: Int, signedBy pki: TransactionPKI) -> [UInt8] {
        let step = step(number)
        var event = NotifiedEvent(
            step.notificationType, step.subtype, about: transaction(number), renewalInfo: renewalInfo(number), status: 1
        )
        (event.notificationUUID, event.signedDate) = (uuid(number), signedDate(number))
        return event.jws(signedBy: pki)
    }

    /// Returns the original transaction ID of a notification's subscription.
    package func originalTransactionID(_ number: Int) -> Int64 {
        Self.firstTransactionID + Int64(number % customers) * Self.stride
    }

    /// Returns the time of signing of a notification and of the items in it.
    package func signedDate(_ number: Int) -> Timestamp { firstSignedDate.advanced(by: .milliseconds(number)) }

    /// Returns a UUID of version 4 (RFC 9562 §5.4) that follows from the seed and the time of the series.
    package func uuid(_ number: Int) -> String {
        let purpose = "notification \(number) from \(firstSignedDate.millisecondsSince1970)"
        var generator = SplitMix64(seed: seed, purpose: purpose)
        return UUIDText.version4(generator.next(), generator.next())
    }
}

// MARK: - Contents

extension NotificationSeries {
    private typealias Step = (notificationType: String, subtype: String?, isRenewing: Bool)

    private static let subscribed: Step = ("SUBSCRIBED", "INITIAL_BUY", true)
    /// The events after the subscription, which repeat. The first of them begins a period.
    private static let later: [Step] = [
        ("DID_RENEW", nil, true), ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", false),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", true),
    ]

    /// Returns the number of earlier notifications about the same customer.
    private func revision(_ number: Int) -> Int { number / customers }

    private func step(_ number: Int) -> Step {
        let revision = revision(number)
        return revision == 0 ? Self.subscribed : Self.later[(revision - 1) % Self.later.count]
    }

    /// Returns the period that runs at a notification, counted from 0.
    private func period(_ number: Int) -> Int { (revision(number) + Self.later.count - 1) / Self.later.count }

    /// Returns the beginning of a period, which the first notification about it announces.
    private func purchaseDate(ofPeriod period: Int, _ number: Int) -> Timestamp {
        let revision = period == 0 ? 0 : (period - 1) * Self.later.count + 1
        return signedDate(number % customers + revision * customers).advanced(by: .zero - Self.delay)
    }

    /// The time from a purchase to its notification.
    private static let delay = Duration.seconds(1)
    private static let periodLength = Duration.seconds(30 * 86_400)

    private func transaction(_ number: Int) -> TransactionContents {
        let original = originalTransactionID(number), period = period(number)
        let purchaseDate = purchaseDate(ofPeriod: period, number)
        var contents = TransactionContents()
        contents.transactionID = String(original + Int64(period))
        contents.originalTransactionID = String(original)
        contents.webOrderLineItemID = String(original + Self.stride / 2 + Int64(period))
        (contents.bundleID, contents.productID) = (bundleID, productID)
        contents.purchaseDate = purchaseDate
        contents.originalPurchaseDate = self.purchaseDate(ofPeriod: 0, number)
        contents.expiresDate = purchaseDate.advanced(by: Self.periodLength)
        contents.environment = environment
        contents.transactionReason = period == 0 ? "PURCHASE" : "RENEWAL"
        contents.appTransactionID = TransactionContents.appTransactionID(of: original)
        return contents
    }

    private func renewalInfo(_ number: Int) -> RenewalInfoContents {
        let purchaseDate = purchaseDate(ofPeriod: period(number), number)
        var contents = RenewalInfoContents()
        (contents.productID, contents.autoRenewProductID) = (productID, productID)
        contents.autoRenewStatus = step(number).isRenewing ? 1 : 0
        contents.recentSubscriptionStartDate = self.purchaseDate(ofPeriod: 0, number)
        contents.renewalDate = purchaseDate.advanced(by: Self.periodLength)
        return contents
    }

    private var productID: String { bundleID + ".monthly" }
}
