// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

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
