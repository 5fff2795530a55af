// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What a subscription entitles to at one moment. The raw values are those of the API.
public enum SubscriptionState: String, CaseIterable, Hashable, Sendable {
    /// Paid for now.
    case active
    /// The last period has ended.
    case expired
    /// Apple refunded or revoked the last period.
    case revoked
}

/// One subscription: all transactions with the same original transaction ID, seen from one moment.
public struct Subscription: Sendable {
    /// Names the subscription across renewals, upgrades and pauses.
    public let originalTransactionID: String
    /// What it entitles to.
    public let state: SubscriptionState
    /// The transaction that decides: the one that is active, or else the latest.
    public let transaction: InAppPurchase
    /// Whether no period so far was a free trial or at an introductory price: then the customer may still have one
    /// (Apple, "Implementing introductory offers in your app").
    public let isEligibleForIntroOffer: Bool
}

extension Subscription {
    /// The subscriptions among these purchases at `now`, the one that ends last first.
    static func all(in purchases: some Sequence<InAppPurchase>, at now: Timestamp) -> [Subscription] {
        Dictionary(grouping: purchases.filter(\.isSubscription), by: \.chainID)
            .map { id, transactions in Subscription(id, transactions, at: now) }
            .sorted {
                ($0.transaction.expiryOrder, $0.originalTransactionID) > (
                    $1.transaction.expiryOrder, $1.originalTransactionID
                )
            }
    }

    /// - Parameter transactions: at least one.
    private init(_ originalTransactionID: String, _ transactions: [InAppPurchase], at now: Timestamp) {
        let latest = transactions.latest
        let active = transactions.filter { $0.isActive(at: now) }
        transaction = active.isEmpty ? latest : active.latest
        state = active.isEmpty ? (latest.cancellationDate == nil ? .expired : .revoked) : .active
        self.originalTransactionID = originalTransactionID
        isEligibleForIntroOffer = !transactions.contains(where: \.usedIntroOffer)
    }
}

extension InAppPurchase {
    /// Only auto-renewable subscriptions have an expiry date in a receipt.
    var isSubscription: Bool { expiresDate != nil }

    /// Receipts made in Xcode have no original transaction ID.
    var chainID: String { originalTransactionID ?? transactionID }

    /// Whether the period is paid for and under way.
    fileprivate func isActive(at now: Timestamp) -> Bool {
        guard let expiresDate, cancellationDate == nil else { return false }
        return now < expiresDate && (purchaseDate ?? now) <= now
    }

    fileprivate var usedIntroOffer: Bool { isTrialPeriod == true || isInIntroOfferPeriod == true }

    /// When the period ends, or else when it was bought.
    fileprivate var expiryOrder: Timestamp { expiresDate ?? start }

    private var start: Timestamp { purchaseDate ?? Timestamp(millisecondsSince1970: .min) }

    /// Orders transactions by the end of their period, then by its start, then by their names: of two that end together,
    /// an upgrade and what it replaced for instance, the same one must count in whichever order they stand.
    fileprivate func endsEarlier(than other: InAppPurchase) -> Bool {
        if expiryOrder != other.expiryOrder { return expiryOrder < other.expiryOrder }
        if start != other.start { return start < other.start }
        return transactionID < other.transactionID
    }
}

extension [InAppPurchase] {
    /// The transaction whose period ends last. The list is never empty, and its order means nothing.
    fileprivate var latest: InAppPurchase {
        dropFirst().reduce(self[0]) { $0.endsEarlier(than: $1) ? $1 : $0 }
    }

    /// Without those subscription transactions that a later one of the same subscription has superseded.
    func withoutOldTransactions() -> [InAppPurchase] {
        let latest = Dictionary(grouping: filter(\.isSubscription), by: \.chainID).mapValues(\.latest.transactionID)
        return filter { !$0.isSubscription || latest[$0.chainID] == $0.transactionID }
    }
}

extension VerifiedReceipt {
    /// The next moment after `now` at which anything derived from this receipt can change; nil if nothing will.
    func nextBoundary(after now: Timestamp) -> Timestamp? {
        var next = expirationDate.flatMap { $0 > now ? $0 : nil }
        for purchase in purchases where purchase.isSubscription {
            for date in [purchase.purchaseDate, purchase.expiresDate].compactMap(\.self) where date > now {
                next = min(next ?? date, date)
            }
        }
        return next
    }
}
