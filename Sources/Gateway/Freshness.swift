// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

extension Duration {
    /// The span without its direction.
    package var magnitude: Duration { self < .zero ? .zero - self : self }
}

extension Timestamp {
    /// The time from here to there; negative if that is earlier.
    package func duration(to other: Timestamp) -> Duration {
        let (span, overflow) = other.millisecondsSince1970.subtractingReportingOverflow(millisecondsSince1970)
        return .milliseconds(overflow ? (self < other ? .max : .min) : span)
    }

    /// Whether what was found out at this time is no older at `now` than somebody accepts, who accepts any age with nil.
    /// A clock that was set back must not make it last: what comes from the future counts as too old.
    func isAccepted(at now: Timestamp, maximumAge: Duration?) -> Bool {
        self <= now.advanced(by: .seconds(1)) && maximumAge.map { now <= advanced(by: $0) } ?? true
    }
}

/// How long an answer may be repeated. Each is a maximum: no answer outlives the next boundary of an entitlement.
public struct FreshnessPolicy: Hashable, Sendable {
    /// While every subscription is paid for.
    public var active: Duration = .seconds(600)
    /// The same in the sandbox, where a month takes five minutes.
    public var activeInSandbox: Duration = .seconds(30)
    /// While Apple tries to collect a payment: it may succeed at any moment.
    public var unpaid: Duration = .seconds(60)
    /// For a day after a subscription ended: customers come back then.
    public var recentlyExpired: Duration = .seconds(60)
    /// After that.
    public var longExpired: Duration = .seconds(3600)
    /// Without a subscription only a refund can change the answer.
    public var withoutSubscription: Duration = .seconds(86_400)
    /// For receipts that break a rule which no passing of time mends.
    public var rejected: Duration = .seconds(3600)
    /// For 21010: an account that is gone does not come back soon.
    public var accountNotFound: Duration = .seconds(3600)
    /// For 21003 on a receipt whose signature holds: asking again at once brings the same answer.
    public var disagreement: Duration = .seconds(300)
    /// The most for the near cache, which no other node can correct.
    public var near: Duration = .seconds(30)
    /// How long after its end an answer is still given while a new one is fetched (RFC 5861 §3).
    public var staleWhileRevalidate: Duration = .seconds(60)
    /// How long after its end an answer is still better than none (RFC 5861 §4).
    public var staleIfError: Duration = .seconds(86_400)

    /// The default policy.
    public init() {}

    /// How long after Apple was asked a finding is still of use: while it is fresh, and then as long as it may be given
    /// past its time.
    public func retention(of known: CachedResult) -> Duration {
        let end =
            switch known.result {
            case .answered: known.freshUntil.advanced(by: staleIfError)
            case .accountNotFound: known.freshUntil.advanced(by: staleWhileRevalidate)
            case .unanswered: known.freshUntil
            }
        return known.askedAt.duration(to: end)
    }

    /// The longest time any finding is fresh.
    public var longestFreshness: Duration {
        [active, unpaid, recentlyExpired, longExpired, withoutSubscription, accountNotFound, disagreement].max()
            ?? .zero
    }

    /// The longest time any finding is of use.
    public var longestRetention: Duration { longestFreshness + max(staleIfError, staleWhileRevalidate) }

    /// The table of above for these subscriptions: what changes soonest counts.
    func span(of subscriptions: [Subscription], in environment: Environment?, at now: Timestamp) -> Duration {
        let longest = subscriptions.map { span(of: $0, at: now) }.min() ?? withoutSubscription
        return environment ?? .production == .production ? longest : min(longest, activeInSandbox)
    }

    private func span(of subscription: Subscription, at now: Timestamp) -> Duration {
        switch subscription.state {
        case .active: return active
        case .inGracePeriod, .inBillingRetry: return unpaid
        case .expired, .revoked, .upgraded:
            let end = subscription.transaction.expiryOrder
            return now < end.advanced(by: .seconds(86_400)) ? recentlyExpired : longExpired
        }
    }
}
