// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension SubscriptionTimeline {
    /// Creates the timeline of one subscription, whose transactions are signed with their times.
    /// - Parameter chain: the indices of its transactions, at least one.
    package init(_ transactions: [Transaction], _ chain: [Int]) {
        let facts = EntitlementFacts(TransactionList(transactions))
        self.init(facts, chain.sorted { facts.begins($0, before: $1) }, rules: SubscriptionRules())
    }

    /// Creates the timeline of one subscription.
    /// - Parameter chain: the indices of its transactions, at least one, in the order in which the periods began.
    init(_ facts: EntitlementFacts, _ chain: [Int], rules: SubscriptionRules) {
        let periods = SubscriptionPeriods(facts, chain, knownAt: rules.knownAt)
        self.init(periods.periods(licenceEnd: rules.licenceEnd))
    }
}

/// The periods of a subscription's timeline, read from the facts of its chain.
///
/// A hostile chain may have 100,000 periods: nothing here compares each period with each other period.
private struct SubscriptionPeriods {
    private let transactions: [TransactionFacts]
    /// The indices of the chain, in the order in which the periods began.
    private let chain: [Int]
    /// The time at which transactions without a time of their own were known.
    private let knownAt: Timestamp?
    private let changes: ProductChanges?
    private let copies: RevokedCopies<PeriodFacts>

    init(_ facts: EntitlementFacts, _ chain: [Int], knownAt: Timestamp?) {
        (transactions, self.chain, self.knownAt) = (facts.transactions, chain, knownAt)
        changes = ProductChanges(transactions, chain)
        copies = RevokedCopies(transactions, chain, knownAt: knownAt)
    }

    /// - Parameter licenceEnd: the end of the app's volume licence, which ends every period.
    func periods(licenceEnd: Timestamp?) -> [SubscriptionTimeline.Period] {
        chain.indices.map { position in
            let transaction = transactions[chain[position]], replacement = replacement(of: transaction, at: position)
            return SubscriptionTimeline.Period(
                index: chain[position], start: transaction.purchaseDate,
                expiry: transaction.expiresDate.map { min($0, licenceEnd ?? $0) },
                revocation: revocation(of: transaction, replacement), replacement: replacement,
                knownAt: transaction.signedDate ?? knownAt, isPaidByCustomer: transaction.isPaidByCustomer)
        }
    }

    private func revocation(
        of transaction: TransactionFacts, _ replacement: SubscriptionTimeline.Replacement?
    ) -> Timestamp? {
        guard !transaction.isUpgraded else { return nil }
        // A cancellation at which another product begins is no refund.
        if let date = transaction.cancellationDate { return replacement == nil ? date : nil }
        return copies.revocation(of: transaction).flatMap { transactions[$0].cancellationDate }
    }

    /// Returns the end of a period by a change to another product, as far as the transactions show it: by Apple's mark, by
    /// a cancellation at which another product begins (answers and receipts show an upgrade in this way), or by the begin of
    /// another product after this period was signed.
    private func replacement(
        of transaction: TransactionFacts, at position: Int
    ) -> SubscriptionTimeline.Replacement? {
        if let date = transaction.cancellationDate {
            guard transaction.isUpgraded || !transaction.isRevoked else { return nil }
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
    private let products: [InternedText]
    /// For each position the next position with another product.
    private let nextOther: [Int]

    /// Nil for a single product, the common case.
    init?(_ transactions: [TransactionFacts], _ chain: [Int]) {
        let first = transactions[chain[0]].product
        guard chain.contains(where: { transactions[$0].product != first }) else { return nil }
        let products = chain.map { transactions[$0].product }
        var nextOther = Array(repeating: chain.count, count: chain.count)
        for position in chain.indices.dropLast().reversed() {
            let isOther = products[position] != products[position + 1]
            nextOther[position] = isOther ? position + 1 : nextOther[position + 1]
        }
        (self.products, self.nextOther) = (products, nextOther)
        begins = chain.map { transactions[$0].start }
    }

    /// Returns the first begin of another product after the begin of a period, and not before a time.
    func begin(of position: Int, from time: Timestamp?) -> Timestamp? {
        let first = begins[position].advanced(by: .milliseconds(1))
        var next = firstPosition(from: max(first, time ?? first))
        if next < begins.count, products[position] == products[next] { next = nextOther[next] }
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

extension EntitlementFacts {
    /// Returns true for the transaction whose period begins first. If both begin together, the smaller ID decides, so that
    /// the order of a list does not matter.
    func begins(_ one: Int, before other: Int) -> Bool {
        let (start, otherStart) = (transactions[one].start, transactions[other].start)
        return start == otherStart ? list.transactionID(at: one) < list.transactionID(at: other) : start < otherStart
    }
}
