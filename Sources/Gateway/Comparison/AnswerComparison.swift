// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// An answer about evidence, and the time up to which its source knew everything.
struct ComparedAnswer: Sendable {
    let answer: Answer
    let transactions: [Transaction]
    /// The time of the oldest signature, or of Apple's answer; nil for evidence without a signed time.
    let knownAt: Timestamp?
    /// True if the source lists every lasting purchase: an app receipt, or Apple's answer to one, or the Server API.
    fileprivate let listsAll: Bool

    init(_ answer: Answer, about evidence: VerifiedEvidence, excludesOldTransactions: Bool = false) {
        let isSigned = [.local, .notification].contains(answer.provenance.source)
        self.answer = answer
        transactions = answer.transactions.values
        knownAt = isSigned ? evidence.signingTime : answer.provenance.verifiedAt
        listsAll =
            !excludesOldTransactions && (answer.provenance.source == .serverAPI || evidence.receipt != nil)
    }

    fileprivate func knownAt(_ transaction: Transaction) -> Timestamp? { transaction.signedDate ?? knownAt }
}

/// The differences between two answers about one subject, without those that time or the kind of a source explains.
///
/// The earlier answer decides what can be compared: what Apple did after it is no difference, and states are compared as
/// of its time. A value that a source does not have is unknown, and equals any.
struct AnswerComparison {
    private enum Limits {
        /// The time in which Apple's index may lack a purchase, and by which the clocks of its servers differ.
        static let delay = FreshnessPolicy().indexDelay
        /// Answers that are no further apart are of one moment.
        static let moment: Duration = .seconds(60)
        /// Apple's longest grace period. A payment within it renews from the end of the period before.
        static let grace = SubscriptionTimeline.Limits.gracePeriod
        /// `verifyReceipt` dates the first purchase minutes later in some renewals.
        static let originalDate: Int64 = 3600
    }

    private let earlier: ComparedAnswer
    private let later: ComparedAnswer
    /// True if the client got the earlier answer.
    private let isClientsEarlier: Bool
    /// True if both are answers of one moment: then values without a time of their own are compared as well.
    private let isOneMoment: Bool
    /// True if plans, which have no time, can be compared. Apple answers an iOS 6 receipt with less.
    private var comparesPlans: Bool { isOneMoment && evidence.transactionReceipt == nil }
    private let evidence: VerifiedEvidence
    private let lateRenewal: Duration
    /// The types of the products that the evidence names: `verifyReceipt` does not.
    private let types: [String: ProductType]
    private(set) var differences: [ComparisonDifference] = []

    /// - Parameters:
    ///   - answered: the answer that the client got.
    ///   - compared: the answer of the other source.
    init(
        _ answered: ComparedAnswer, with compared: ComparedAnswer, about evidence: VerifiedEvidence,
        lateRenewal: Duration
    ) {
        isClientsEarlier = (answered.knownAt ?? .earliest) <= (compared.knownAt ?? .earliest)
        (earlier, later) = isClientsEarlier ? (answered, compared) : (compared, answered)
        let end = later.knownAt ?? .latest
        isOneMoment = earlier.knownAt.map { end <= $0.advanced(by: Limits.moment) } ?? false
        (self.evidence, self.lateRenewal) = (evidence, lateRenewal)
        let typed = evidence.transactions.values.compactMap { transaction in
            transaction.productType.map { (transaction.transactionID, $0) }
        }
        types = Dictionary(typed) { first, _ in first }
        compare()
    }

    /// The whole seconds between the times of both answers; nil if one is unknown.
    var age: Int64? {
        earlier.knownAt.flatMap { begin in later.knownAt.map { begin.duration(to: $0).components.seconds } }
    }

    private mutating func compare() {
        let (first, second) = (earlier.answer.verdict, later.answer.verdict)
        guard first == .genuine, second == .genuine else {
            if first != second { report(.verdict, first.word, second.word, nil) }
            return
        }
        let known = compareTransactions()
        if comparesPlans { comparePlans() }
        compareStates(known.earlier, known.later)
    }

    // MARK: - Transactions

    /// Compares the transactions, and returns the transactions of both answers as they were known at the time of the earlier answer.
    private mutating func compareTransactions() -> (earlier: [Transaction], later: [Transaction]) {
        let (earlierIndices, laterIndices) = (earlier.transactions.indicesByID, later.transactions.indicesByID)
        var known: (earlier: [Transaction], later: [Transaction]) = ([], [])
        let chains = Dictionary(grouping: earlier.transactions, by: \.chainID)
        let ends = chains.mapValues { $0.compactMap(\.expiresDate).max() }
        for transaction in later.transactions {
            if let index = earlierIndices[transaction.transactionID] {
                known.later.append(compare(earlier.transactions[index], transaction))
            } else if mustList(transaction, earlier), !isRecovery(transaction, after: ends[transaction.chainID] ?? nil)
            {
                report(.transaction, "absent", "present", transaction.productID)
                known.later.append(transaction)
            }
        }
        for transaction in earlier.transactions {
            if laterIndices[transaction.transactionID] == nil {
                guard mustList(transaction, later) else { continue }
                report(.transaction, "present", "absent", transaction.productID)
            }
            known.earlier.append(transaction)
        }
        return known
    }

    /// Returns true for a transaction that this answer would have. Receipts and `verifyReceipt` leave out finished
    /// consumables, and in the sandbox old periods.
    private func mustList(_ transaction: Transaction, _ compared: ComparedAnswer) -> Bool {
        guard compared.listsAll, let knownAt = compared.knownAt, let start = transaction.purchaseDate,
            start.advanced(by: Limits.delay) <= knownAt
        else { return false }
        if evidence.environment == .sandbox, let end = transaction.expiresDate, end < knownAt { return false }
        switch transaction.productType ?? types[transaction.transactionID] {
        case .nonConsumable, .nonRenewingSubscription, .autoRenewableSubscription: return true
        case .consumable: return false
        case nil: return transaction.isSubscription
        }
    }

    /// Returns true for a period of the later answer that Apple may have added after the earlier answer, although it begins
    /// before: the payment came in the grace period.
    /// - Parameter end: the last end of the chain's periods in the earlier answer.
    private func isRecovery(_ transaction: Transaction, after end: Timestamp?) -> Bool {
        guard !isOneMoment, let end, let start = transaction.purchaseDate, let knownAt = earlier.knownAt,
            knownAt < start.advanced(by: Limits.grace)
        else { return false }
        return end <= start.advanced(by: Limits.delay)
    }

    /// Compares two states of a transaction, and returns the later state without what happened since the earlier one.
    private mutating func compare(_ first: Transaction, _ second: Transaction) -> Transaction {
        let product = second.productID
        texts(.productID, first.productID, second.productID, product)
        if !first.isRenamed(to: second) { texts(.originalTransactionID, first.chainID, second.chainID, product) }
        dates(.purchaseDate, first.purchaseDate, second.purchaseDate, product)
        dates(
            .originalPurchaseDate, first.originalPurchaseDate, second.originalPurchaseDate, product,
            within: Limits.originalDate)
        flags(.isTrialPeriod, first.isTrialPeriod, second.isTrialPeriod, product)
        // Old answers of `verifyReceipt` call a trial both.
        if first.isTrialPeriod != true, second.isTrialPeriod != true {
            flags(.isInIntroOfferPeriod, first.isInIntroOfferPeriod, second.isInIntroOfferPeriod, product)
        }
        words(.ownership, first.ownership?.rawValue, second.ownership?.rawValue, product)
        texts(.subscriptionGroup, first.subscriptionGroupID, second.subscriptionGroupID, product)
        texts(.webOrderLineItem, first.webOrderLineItemID, second.webOrderLineItemID, product)
        texts(.promotionalOffer, first.promotionalOfferID, second.promotionalOfferID, product)
        if let one = first.quantity, let other = second.quantity, one != other {
            report(.quantity, one < other ? "less" : "more", one < other ? "more" : "less", product)
        }
        // A developer may change it at any time.
        if isOneMoment { texts(.appAccountToken, first.appAccountToken, second.appAccountToken, product) }
        return withoutLaterEnd(first, second)
    }

    /// Compares the ends of a transaction.
    private mutating func withoutLaterEnd(_ first: Transaction, _ second: Transaction) -> Transaction {
        var known = second
        let knownAt = earlier.knownAt(first), end = first.expiresDate, newEnd = second.expiresDate
        // A developer may extend a period until it ends.
        if !isOneMoment, let end, let newEnd, end < newEnd, knownAt.map({ $0 <= end }) ?? true {
            known.expiresDate = end
        } else {
            dates(.expiresDate, end, newEnd, second.productID)
        }
        guard first.isEndedEarly != second.isEndedEarly else { return known }
        // Apple may have revoked it since, or taken the revocation back.
        let date = second.cancellationDate, before = knownAt?.advanced(by: .zero - Limits.delay)
        let isSince = second.isEndedEarly && (date.map { date in before.map { $0 < date } ?? true } ?? !isOneMoment)
        guard !isSince, isOneMoment || second.isEndedEarly else {
            (known.cancellationDate, known.isUpgraded) = (first.cancellationDate, first.isUpgraded)
            return known
        }
        report(
            .cancellationDate, first.isEndedEarly ? "present" : "absent", second.isEndedEarly ? "present" : "absent",
            second.productID)
        return known
    }

    // MARK: - Plans and states

    private mutating func comparePlans() {
        let names = names(earlier.transactions, later.transactions)
        let plans = Dictionary(grouping: later.answer.renewals) { names.current($0.originalTransactionID) }
        for first in earlier.answer.renewals {
            guard
                let second = plans[names.current(first.originalTransactionID)]?.first(where: { plan in
                    plan.productID == nil || first.productID == nil || plan.productID == first.productID
                })
            else { continue }
            let product = second.productID ?? first.productID
            flags(.willRenew, first.willRenew, second.willRenew, product)
            texts(.renewalProductID, first.renewalProductID, second.renewalProductID, product)
            words(.expirationIntent, first.expirationIntent?.rawValue, second.expirationIntent?.rawValue, product)
            flags(.isInBillingRetry, first.isInBillingRetry, second.isInBillingRetry, product)
            dates(.gracePeriodExpiresDate, first.gracePeriodExpiresDate, second.gracePeriodExpiresDate, product)
        }
    }

    /// Compares the states of subscriptions at the time of the earlier answer. Plans count if both answers have them.
    private mutating func compareStates(_ first: [Transaction], _ second: [Transaction]) {
        guard let now = earlier.knownAt else { return }
        let names = names(first, second)
        func plans(_ one: ComparedAnswer, _ other: ComparedAnswer) -> [Renewal] {
            guard comparesPlans else { return [] }
            let chains = Set(other.answer.renewals.map { names.current($0.originalTransactionID) })
            return one.answer.renewals.filter { chains.contains(names.current($0.originalTransactionID)) }
        }
        let rules = SubscriptionRules(lateRenewal: lateRenewal, knownAt: now, licenceEnd: evidence.licenceEnd)
        func subscriptions(_ transactions: [Transaction], _ plans: [Renewal]) -> [Subscription] {
            Entitlements(in: TransactionList(transactions), renewals: plans, at: now, rules: rules).subscriptions
        }
        let others = Dictionary(
            subscriptions(second, plans(later, earlier)).map { (names.current($0.originalTransactionID), $0.state) }
        ) { one, _ in one }
        for subscription in subscriptions(first, plans(earlier, later)) {
            guard let other = others[names.current(subscription.originalTransactionID)] else { continue }
            if other != subscription.state {
                report(.state, subscription.state.rawValue, other.rawValue, subscription.transaction.productID)
            }
        }
    }

    private func names(_ first: [Transaction], _ second: [Transaction]) -> ChainNames {
        ChainNames(first + second, earlier.answer.renewals + later.answer.renewals)
    }
}

// MARK: - Values

extension AnswerComparison {
    private mutating func texts(_ field: ComparedField, _ first: String?, _ second: String?, _ product: String?) {
        guard let first, let second, !first.utf8.elementsEqual(second.utf8) else { return }
        // The values may be a customer's: only that they differ is kept.
        differences.append(
            ComparisonDifference(
                kind: ComparisonKind(field, "value", "other_value"), productID: product))
    }

    private mutating func words(_ field: ComparedField, _ first: String?, _ second: String?, _ product: String?) {
        guard let first, let second, first != second else { return }
        report(field, first.lowercased(), second.lowercased(), product)
    }

    private mutating func flags(_ field: ComparedField, _ first: Bool?, _ second: Bool?, _ product: String?) {
        guard let first, let second, first != second else { return }
        report(field, "\(first)", "\(second)", product)
    }

    /// Receipts have whole seconds.
    /// - Parameter tolerance: the seconds that are no difference.
    private mutating func dates(
        _ field: ComparedField, _ first: Timestamp?, _ second: Timestamp?, _ product: String?,
        within tolerance: Int64 = 0
    ) {
        guard let first, let second else { return }
        let (one, other) = (first.millisecondsSince1970 / 1000, second.millisecondsSince1970 / 1000)
        guard (one - other).magnitude > tolerance else { return }
        report(
            field, one < other ? "earlier" : "later", one < other ? "later" : "earlier", product, seconds: other - one)
    }

    /// - Parameters:
    ///   - first: the word of the earlier answer.
    ///   - seconds: the seconds from its date to the other.
    private mutating func report(
        _ field: ComparedField, _ first: String, _ second: String, _ product: String?, seconds: Int64? = nil
    ) {
        let kind =
            isClientsEarlier ? ComparisonKind(field, first, second) : ComparisonKind(field, second, first)
        differences.append(
            ComparisonDifference(
                kind: kind, productID: product,
                seconds: seconds.map { isClientsEarlier ? $0 : 0 - $0 }))
    }
}

extension Transaction {
    /// Returns true if Apple gave the chain another name between these states.
    fileprivate func isRenamed(to other: Transaction) -> Bool {
        other.signedFields?.value.previousOriginalTransactionID == chainID
            || signedFields?.value.previousOriginalTransactionID == other.chainID
    }
}

extension Verdict {
    fileprivate var word: String { reason ?? name }
}
