// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The periods of one subscription and what Apple reported about their end: all that decides its state at any moment.
///
/// The facts are dates, flags and indexes, without texts. docs/states.md has the rules as a table, and each row is a test.
package struct SubscriptionTimeline: Sendable {
    /// The named allowances: each grants access that no date of Apple's grants.
    package enum Limits {
        /// The time by which a paid period may begin ahead. Apple renews up to a day before the end (Apple, "Reducing
        /// involuntary subscriber churn"), and clocks change.
        package static let earlyRenewal: Duration = .seconds(48 * 3600)
        /// The maximum time for which a renewal may be late.
        package static let lateRenewal: Duration = .seconds(3600)
        /// The time for which a granting status holds.
        package static let status: Duration = .seconds(3600)
        /// The longest grace period (Apple, "Reducing involuntary subscriber churn"). A status may grant a grace period
        /// without its end.
        package static let gracePeriod: Duration = .seconds(28 * 86_400)
    }

    /// A period of a product, which the customer paid for or got.
    package struct Period: Sendable {
        /// The index of its transaction.
        package let index: Int
        /// Nil if unknown: then it has begun.
        package let start: Timestamp?
        /// The end that was paid for. Nil if unknown: then the period grants nothing.
        package let expiry: Timestamp?
        /// The time of a refund, or of the end of family sharing.
        package var revocation: Timestamp?
        /// The end that a change to another product made.
        package var replacement: Replacement?
        /// The time up to which Apple knew this: of the signature over its transaction, or of Apple's answer; nil if
        /// unknown.
        package var knownAt: Timestamp?
        /// False for a free trial, and for a period that a member of the family shares.
        package var isPaidByCustomer = true
    }

    /// The end of a period by a change to another product.
    package enum Replacement: Hashable, Sendable {
        /// - Parameter successor: true if the period of the other product is known.
        case at(Timestamp, successor: Bool)
        /// It is known only that there was a change of product.
        case unknown
    }

    /// Apple's plan for the time after the last period.
    package struct Plan: Sendable {
        package var gracePeriodEnd: Timestamp?
        package var isInBillingRetry = false
        /// True if the plan says that the subscription renews and names no reason for an end.
        package var renews = false
        /// The time at which Apple signed or answered this; nil if unknown.
        package var knownAt: Timestamp?
        package var status: ReportedStatus?
    }

    /// The periods, at least one. Of periods with the same dates, the last one in the list counts.
    package let periods: [Period]

    package init(_ periods: [Period]) { self.periods = periods }
}

extension SubscriptionTimeline.Period {
    /// The earliest of the expiry, the revocation and the replacement.
    package var end: Timestamp {
        var end = expiry ?? begin
        if let revocation { end = min(end, revocation) }
        switch replacement {
        case .at(let date, _): end = min(end, date)
        case .unknown: end = min(end, begin)
        case nil: break
        }
        return end
    }

    /// False for a period that a revocation or the change to an unknown period ended.
    package var endsByDate: Bool {
        guard revocation == nil else { return false }
        return switch replacement {
        case .unknown, .at(_, successor: false): false
        case .at(_, successor: true), nil: true
        }
    }

    var begin: Timestamp { start ?? .earliest }

    /// True if the period grants access between its begin and its end. A revocation counts as soon as it is known.
    fileprivate var isPaid: Bool { revocation == nil && begin < end }

    func isCurrent(at now: Timestamp) -> Bool { isPaid && begin <= now && now < end }

    /// Returns true for a paid period that begins so soon that the customer is served already.
    func isNext(at now: Timestamp) -> Bool {
        isPaid && now < begin && begin <= now.advanced(by: SubscriptionTimeline.Limits.earlyRenewal)
    }
}

// MARK: - The standing period

extension SubscriptionTimeline {
    /// Returns the period that decides the state at a moment: the paid period that contains the moment, or the next if
    /// it begins soon. Otherwise returns the period that ended last.
    package func standing(at now: Timestamp) -> Period {
        latest { $0.isCurrent(at: now) } ?? next(at: now) ?? latest { $0.begin <= now } ?? first
    }

    /// Returns the paid period that ends last; nil if it has ended.
    func lastPaid(at now: Timestamp) -> Period? { latest { $0.isPaid && now < $0.end } }

    /// The period that ends last, among those that match.
    private func latest(_ isIncluded: (Period) -> Bool) -> Period? {
        var latest: Period?
        for period in periods where isIncluded(period) {
            if latest.map({ ($0.end, $0.begin) <= (period.end, period.begin) }) ?? true { latest = period }
        }
        return latest
    }

    private func next(at now: Timestamp) -> Period? {
        var next: Period?
        for period in periods where period.isNext(at: now) {
            if next.map({ period.begin < $0.begin }) ?? true { next = period }
        }
        return next
    }

    private var first: Period { periods.dropFirst().reduce(periods[0]) { $1.begin < $0.begin ? $1 : $0 } }
}

// MARK: - The state

extension SubscriptionTimeline.Period {
    /// The state at a moment, and the time until which it grants access.
    package struct State: Hashable, Sendable {
        package let state: SubscriptionState
        /// In the future if the state grants access, and only then; nil if access did not end by a date.
        package let accessUntil: Timestamp?
    }

    /// Returns the state at a moment at which this period stands.
    /// - Parameters:
    ///   - plan: Apple's plan for the product.
    ///   - lateRenewal: the time for which a renewal may be late, at most `Limits.lateRenewal`.
    package func state(
        at now: Timestamp, _ plan: SubscriptionTimeline.Plan?, lateRenewal: Duration
    ) -> State {
        if isCurrent(at: now) || isNext(at: now) {
            return plan?.status.flatMap { denial(by: $0, at: now) } ?? State(state: .active, accessUntil: end)
        }
        if !endsByDate { return State(state: revocation == nil ? .upgraded : .revoked, accessUntil: nil) }
        guard begin <= now, let plan else { return State(state: .expired, accessUntil: begin <= now ? end : nil) }
        return lapse(at: now, current(plan), lateRenewal: min(lateRenewal, SubscriptionTimeline.Limits.lateRenewal))
    }

    /// Returns the end of what a plan grants after the end of this period: of the grace period, or of the time for which a
    /// status holds; else the end itself.
    package func accessEnd(_ plan: SubscriptionTimeline.Plan) -> Timestamp {
        max(end, plan.gracePeriodEnd ?? end, plan.status.flatMap(grantEnd) ?? end)
    }

    /// Returns the plan without outdated facts. A plan from before the period is about an earlier end. A status older
    /// than the plan counts only if the plan fits the status. Apple signs both at slightly different times, and later
    /// copies of a plan do not differ.
    private func current(_ plan: SubscriptionTimeline.Plan) -> SubscriptionTimeline.Plan {
        guard let knownAt = plan.knownAt else { return plan }
        var current = knownAt < begin ? SubscriptionTimeline.Plan() : plan
        current.status = plan.status.flatMap { $0.date < knownAt && !plan.fits($0) ? nil : $0 }
        return current
    }

    /// Returns the state after the end.
    private func lapse(at now: Timestamp, _ plan: SubscriptionTimeline.Plan, lateRenewal: Duration) -> State {
        if let status = plan.status, let denied = denial(by: status, at: now) { return denied }
        let accessEnd = accessEnd(plan), late = end.advanced(by: lateRenewal)
        if now < accessEnd {
            let isGrace = plan.status?.state == .inGracePeriod || plan.gracePeriodEnd.map { now < $0 } ?? false
            return State(state: isGrace ? .inGracePeriod : .active, accessUntil: accessEnd)
        }
        if plan.isInBillingRetry { return State(state: .inBillingRetry, accessUntil: accessEnd) }
        if plan.renews, now < late, let knownAt = plan.knownAt, end <= knownAt {
            return State(state: .active, accessUntil: late)
        }
        return State(state: .expired, accessUntil: accessEnd)
    }
}

extension SubscriptionTimeline.Plan {
    /// Returns true if the plan may belong to a subscription that a status grants access to.
    fileprivate func fits(_ status: ReportedStatus) -> Bool {
        switch status.state {
        case .active: renews && !isInBillingRetry
        case .inGracePeriod: isInBillingRetry && gracePeriodEnd == nil
        case .expired, .inBillingRetry, .revoked, .upgraded: false
        }
    }
}

// MARK: - Apple's status

extension SubscriptionTimeline.Period {
    /// Returns the state that a status makes of this period; nil if it denies no access, or is older than what is known of
    /// the period.
    private func denial(by status: ReportedStatus, at now: Timestamp) -> State? {
        guard knownAt ?? begin <= status.date else { return nil }
        switch status.state {
        case .expired: return State(state: .expired, accessUntil: min(end, status.date))
        // Apple may try to renew before the end, which is paid for.
        case .inBillingRetry: return end <= now ? State(state: .inBillingRetry, accessUntil: end) : nil
        case .revoked: return State(state: .revoked, accessUntil: nil)
        case .active, .inGracePeriod, .upgraded: return nil
        }
    }

    /// Returns the end of the access that a status grants after the end of this period; nil if it grants none.
    private func grantEnd(by status: ReportedStatus) -> Timestamp? {
        guard end < status.date else { return nil }
        let granted = status.date.advanced(by: SubscriptionTimeline.Limits.status)
        switch status.state {
        case .active: return granted
        case .inGracePeriod: return min(granted, end.advanced(by: SubscriptionTimeline.Limits.gracePeriod))
        case .expired, .inBillingRetry, .revoked, .upgraded: return nil
        }
    }
}
