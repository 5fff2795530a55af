// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension SubscriptionTimeline {
    /// Creates the timeline of one subscription.
    /// - Parameter chain: the indices of its transactions, at least one.
    package init(_ transactions: [Transaction], _ chain: [Int], rules: SubscriptionRules) {
        let periods = SubscriptionPeriods(transactions, chain, knownAt: rules.knownAt)
        self.init(periods.periods(licenceEnd: rules.licenceEnd))
    }
}

/// The facts of a subscription's timeline, read from the transactions of its chain.
///
/// A hostile chain may have 100,000 periods: nothing here compares each period with each other period.
private struct SubscriptionPeriods {
    private let transactions: [Transaction]
    /// The indices of the chain, in the order in which the periods began.
    private let chain: [Int]
    /// The time at which transactions without a time of their own were known.
    private let knownAt: Timestamp?
    private let changes: ProductChanges?
    private let copies: RevokedCopies<PurchasedPeriod>

    /// - Parameter chain: the indices of its transactions, at least one.
    init(_ transactions: [Transaction], _ chain: [Int], knownAt: Timestamp?) {
        let chain = transactions.orderOfBegins(of: chain)
        (self.transactions, self.chain, self.knownAt) = (transactions, chain, knownAt)
        changes = ProductChanges(transactions, chain)
        copies = RevokedCopies(transactions, chain, knownAt: knownAt)
    }

    /// - Parameter licenceEnd: the end of the app's volume licence, which ends every period.
    func periods(licenceEnd: Timestamp?) -> [SubscriptionTimeline.Period] {
        chain.indices.map { position in
            // By index, so that no transaction is copied.
            let index = chain[position], replacement = replacement(of: transactions[index], at: position)
            return SubscriptionTimeline.Period(
                index: index, start: transactions[index].purchaseDate,
                expiry: transactions[index].expiresDate.map { min($0, licenceEnd ?? $0) },
                revocation: revocation(at: index, replacement), replacement: replacement,
                knownAt: transactions[index].signedDate ?? knownAt,
                isPaidByCustomer: transactions[index].isPaidByCustomer)
        }
    }

    private func revocation(at index: Int, _ replacement: SubscriptionTimeline.Replacement?) -> Timestamp? {
        guard !transactions[index].isUpgraded else { return nil }
        // A cancellation at which another product begins is no refund.
        if let date = transactions[index].cancellationDate { return replacement == nil ? date : nil }
        return copies.revocation(at: index, of: transactions).flatMap { transactions[$0].cancellationDate }
    }

    /// Returns the end of a period by a change to another product, as far as the transactions show it: by Apple's mark, by
    /// a cancellation at which another product begins (answers and receipts show an upgrade in this way), or by the begin of
    /// another product after this period was signed.
    private func replacement(
        of transaction: Transaction, at position: Int
    ) -> SubscriptionTimeline.Replacement? {
        if let date = transaction.cancellationDate {
            guard transaction.isUpgraded || transaction.revocation == nil else { return nil }
            let hasSuccessor = changes?.hasBegin(of: position, near: date) ?? false
            return transaction.isUpgraded || hasSuccessor ? .at(date, successor: hasSuccessor) : nil
        }
        // Apple's mark is newer than the begin of the successor; an unmarked period may be older.
        let known = transaction.isUpgraded ? nil : transaction.signedDate ?? knownAt
        if let begin = changes?.begin(of: position, from: known), transaction.expiresDate.map({ begin < $0 }) ?? false {
            return .at(begin, successor: true)
        }
        return transaction.isUpgraded ? .unknown : nil
    }
}

/// The begins of the periods of a chain that has several products.
private struct ProductChanges {
    private enum Limits {
        /// The difference between the end of a replaced period and the begin of its successor.
        static let replacement: Duration = .seconds(60)
    }

    private let begins: [Timestamp]
    /// For each position the next position with another product.
    private let nextOther: [Int]
    private let isOther: (Int, Int) -> Bool

    /// Nil for a single product, the common case.
    init?(_ transactions: [Transaction], _ chain: [Int]) {
        func isOther(_ one: Int, _ other: Int) -> Bool {
            transactions[chain[one]].productID != transactions[chain[other]].productID
        }
        guard chain.indices.contains(where: { isOther(0, $0) }) else { return nil }
        var nextOther = Array(repeating: chain.count, count: chain.count)
        for position in chain.indices.dropLast().reversed() {
            nextOther[position] = isOther(position, position + 1) ? position + 1 : nextOther[position + 1]
        }
        (self.nextOther, self.isOther) = (nextOther, isOther)
        begins = chain.map { transactions[$0].purchaseDate ?? .earliest }
    }

    /// Returns the first begin of another product after the begin of a period, and not before a time.
    func begin(of position: Int, from time: Timestamp?) -> Timestamp? {
        let first = begins[position].advanced(by: .milliseconds(1))
        var next = firstPosition(from: max(first, time ?? first))
        if next < begins.count, !isOther(position, next) { next = nextOther[next] }
        return next < begins.count ? begins[next] : nil
    }

    /// Returns true if another product began near a date, and after the begin of a period.
    func hasBegin(of position: Int, near date: Timestamp) -> Bool {
        begin(of: position, from: date.advanced(by: .zero - Limits.replacement))
            .map { $0 <= date.advanced(by: Limits.replacement) } ?? false
    }

    /// Returns the first position with a begin at a time or later.
    private func firstPosition(from time: Timestamp) -> Int {
        var range = begins.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = begins[middle] < time ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

extension Transaction {
    fileprivate var isPaidByCustomer: Bool { isTrialPeriod != true && ownership != .familyShared }
}

extension [Transaction] {
    /// Returns the indices in the order in which the periods began, then of their IDs, so that the order of a list does
    /// not matter. By index, so that no transaction is copied.
    fileprivate func orderOfBegins(of indices: [Int]) -> [Int] {
        indices.sorted { one, other in
            let begins = (self[one].purchaseDate ?? .earliest, self[other].purchaseDate ?? .earliest)
            return begins.0 == begins.1
                ? self[one].transactionID < self[other].transactionID : begins.0 < begins.1
        }
    }
}

/// The identity of a purchased period, which all its copies share.
///
/// Restored and regranted purchases have transaction IDs of their own. All copies of a period share one
/// `webOrderLineItemId` (an Apple engineer, forum thread 711952); purchases without a subscription have none.
package struct PurchasedPeriod: PurchaseIdentity, Sendable {
    private let webOrderLineItemID: String
    private let productID: String
    /// True for a copy that a member of the family shares: the end of sharing does not end the purchase.
    private let isShared: Bool

    /// Nil for a transaction without such an identity.
    package init?(of transaction: Transaction) { self.init(at: 0, of: [transaction]) }

    init?(at index: Int, of transactions: [Transaction]) {
        guard transactions[index].isSubscription, let item = transactions[index].webOrderLineItemID, item != "0" else {
            return nil
        }
        (webOrderLineItemID, productID) = (item, transactions[index].productID)
        isShared = transactions[index].ownership == .familyShared
    }
}
