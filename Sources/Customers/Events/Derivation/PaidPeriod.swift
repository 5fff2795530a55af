// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// The standing period of a subscription, and the way it ends.
struct PaidPeriod: Sendable {
    let transaction: Transaction
    let end: Timestamp
    private let standing: SubscriptionTimeline.Period
    /// Apple's plan for its end; nil if the plan is about an earlier period.
    let renewal: Renewal?

    enum Limits {
        /// The time for which Apple tries to collect a failed payment (Apple, "Reducing involuntary subscriber churn").
        static let billingRetry: Duration = .seconds(60 * 86_400)
        /// The time for which Apple tries to collect a payment of a commitment (Apple, "Managing the life cycle of monthly
        /// subscriptions with a 12-month commitment").
        static let billingRetryOfCommitment: Duration = .seconds(90 * 86_400)
    }

    /// The state after a period that was not renewed.
    enum Lapse: Sendable {
        case gracePeriod, billingRetry, expired
    }

    /// - Parameter time: the moment at which the period stands.
    /// - Returns: nil without a subscription, and for a period that a refund or an unknown upgrade ended.
    init?(_ transactions: [Transaction], _ renewal: Renewal?, at time: Timestamp) {
        let chain = transactions.indices.filter { transactions[$0].isSubscription }
        guard !chain.isEmpty else { return nil }
        let standing = SubscriptionTimeline(transactions, chain).standing(at: time)
        guard standing.expiry != nil, standing.endsByDate else { return nil }
        (self.standing, transaction, end) = (standing, transactions[standing.index], standing.end)
        let isCurrent = renewal?.signedDate.map { signed in standing.start.map { $0 <= signed } ?? true } ?? false
        self.renewal = isCurrent ? renewal : nil
    }

    private var plan: SubscriptionTimeline.Plan? { renewal.map { SubscriptionTimeline.Plan($0) } }

    private var accessEnd: Timestamp { plan.map(standing.accessEnd) ?? end }

    private var isInBillingRetry: Bool {
        renewal?.isInBillingRetry == true || renewal?.status?.state == .inBillingRetry
    }

    /// Returns the state that Apple's plan shows at the time of its signing; nil for a period that goes on.
    /// - Parameter isExpired: true if Apple says that the subscription expired.
    func lapse(at time: Timestamp, isExpired: Bool) -> Lapse? {
        func state(at time: Timestamp) -> SubscriptionState {
            standing.state(at: time, plan, lateRenewal: .zero).state
        }
        // Apple may report a failed payment before the end.
        switch state(at: max(time, end)) {
        case .inGracePeriod: return .gracePeriod
        case .inBillingRetry: return end <= time ? .billingRetry : nil
        case .expired:
            // Apple may renew a subscription some time after the end of the period.
            let isOver =
                isExpired || renewal?.expirationIntent != nil || renewal?.willRenew == false
                || renewal?.status?.state == .expired
            return isOver && state(at: time) == .expired ? .expired : nil
        case .active, .revoked, .upgraded: return nil
        }
    }

    func event(_ lapse: Lapse, at date: Timestamp) -> EventContents {
        let (type, change): (EventType, EventContents.Change) =
            switch lapse {
            case .gracePeriod: (.subscriptionEnteredGracePeriod, .gracePeriod)
            case .billingRetry: (.subscriptionEnteredBillingRetry, .billingRetry)
            case .expired: (.subscriptionExpired, .expiry)
            }
        // Each source derives the same key, so that all sources share the event's ID.
        let key = [transaction.chainID, transaction.transactionID, end.key]
        var contents = EventContents(type, change, of: key, at: date, transaction)
        contents.renewal = renewal
        return contents
    }

    // MARK: - Schedule

    struct ScheduledChange: Sendable {
        let due: Timestamp
        let contents: EventContents
    }

    /// The changes to come if Apple sends no notification, in their order.
    func schedule(expiryDelay: Duration) -> [ScheduledChange] {
        let retry = transaction.isPartOfCommitment ? Limits.billingRetryOfCommitment : Limits.billingRetry
        let expiry = isInBillingRetry ? end.advanced(by: retry) : accessEnd
        var changes = [ScheduledChange(due: expiry.advanced(by: expiryDelay), contents: event(.expired, at: expiry))]
        if isInBillingRetry {
            changes.insert(ScheduledChange(due: accessEnd, contents: event(.billingRetry, at: accessEnd)), at: 0)
        }
        // A period that had ended long before it was seen is no news.
        return changes.filter { transaction.isRecent($0.contents.occurredAt) }
    }
}

extension CustomerState {
    /// Returns the changes that dates alone make and that are not announced yet, in their order. A change that was due
    /// long ago is history: a notification from Apple's history may be about a period that has been renewed since.
    func scheduledChanges(
        of chain: PurchaseChain, announced: Set<String>, expiryDelay: Duration, at now: Timestamp
    ) -> [PaidPeriod.ScheduledChange] {
        let oldest = now.advanced(by: .zero - StateTransition.Limits.window)
        let id = chain.originalTransactionID
        let period = PaidPeriod(
            transactions.filter { $0.chainID == id }, renewals.first { $0.originalTransactionID == id }, at: .latest)
        let scope = EventScope(chain)
        return period?.schedule(expiryDelay: expiryDelay).filter { change in
            oldest <= change.contents.occurredAt
                && !announced.contains(scope.id(change.contents.change, of: change.contents.key))
        } ?? []
    }
}
