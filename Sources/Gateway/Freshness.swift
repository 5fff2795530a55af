// SPDX-License-Identifier: Apache-2.0

package import Receipts

extension Duration {
    package var magnitude: Duration { self < .zero ? .zero - self : self }
}

extension Timestamp {
    /// Returns the time from here to another time; negative if that is earlier.
    package func duration(to other: Timestamp) -> Duration {
        .milliseconds(other.millisecondsSince1970 - millisecondsSince1970)
    }

    /// Returns true if a result of this time is at most `maximumAge` old at `now`; nil accepts any age.
    func isWithin(_ maximumAge: Duration?, at now: Timestamp) -> Bool {
        maximumAge.map { now <= advanced(by: $0) } ?? true
    }

    /// Returns true for the time of a result from before the clock was set back: the clock does not prolong it.
    /// - Parameter now: the time of the look-up. The request may have come seconds before, and the result meanwhile.
    func isInFuture(at now: Timestamp) -> Bool { now.advanced(by: .seconds(1)) < self }
}

/// The time for which an answer may be repeated. Each is a maximum: no answer outlives an entitlement's next boundary.
package struct FreshnessPolicy: Hashable, Sendable {
    /// While all subscriptions are paid for.
    package var active: Duration = .seconds(600)
    /// While all subscriptions are paid for in the sandbox, where a month takes five minutes.
    package var activeInSandbox: Duration = .seconds(30)
    /// While Apple tries to collect a payment, which may succeed at any moment, or a renewal is late.
    package var unpaid: Duration = .seconds(60)
    /// For a day after a subscription ended: customers often resubscribe then.
    package var recentlyExpired: Duration = .seconds(60)
    /// After that.
    package var longExpired: Duration = .seconds(3600)
    /// Without a subscription: only a refund can change the answer.
    package var withoutSubscription: Duration = .seconds(86_400)
    /// For receipts that break a rule permanently.
    package var rejected: Duration = .seconds(3600)
    /// For 21010: a deleted account rarely comes back soon.
    package var accountNotFound: Duration = .seconds(3600)
    /// For an ID that Apple does not know: a purchase may be newer than Apple's index.
    package var transactionNotFound: Duration = .seconds(5)
    /// For an ID that no transaction has.
    package var transactionIDInvalid: Duration = .seconds(3600)
    /// For the original transaction and the environment of a transaction, which hardly ever change.
    package var alias: Duration = .seconds(30 * 86_400)
    /// For 21003 on a receipt whose signature is valid: an immediate retry gets the same answer.
    package var disagreement: Duration = .seconds(300)
    /// For evidence about which Apple has no usable answer, now or later.
    package var unanswerable: Duration = .seconds(60)
    /// The time in which Apple's index may lack a new purchase. Also for the answer that Apple does not know an older
    /// purchase that it signed.
    package var indexDelay: Duration = .seconds(300)
    /// For an answer without such a purchase.
    package var incomplete: Duration = .seconds(30)
    /// The maximum in the near cache for answers other than rejections, because other nodes cannot correct it.
    package var near: Duration = .seconds(30)
    /// The time after its end for which an answer is given while a new answer is fetched (RFC 5861 §3).
    package var staleWhileRevalidate: Duration = .seconds(60)
    /// The time after its end for which an answer is given if Apple does not answer (RFC 5861 §4).
    package var staleIfError: Duration = .seconds(86_400)

    package init() {}

    /// Returns the time for which a result is of use after its request to Apple: while fresh, and then while stale.
    package func retention(of known: CachedResult) -> Duration {
        known.fetchedAt.duration(to: known.freshUntil) + staleness(of: known.result)
    }

    package func longestRetention(of result: UpstreamResult) -> Duration {
        longestFreshness(of: result) + staleness(of: result)
    }

    package func longestFreshness(of result: UpstreamResult) -> Duration {
        switch result {
        case .answered:
            [active, activeInSandbox, unpaid, recentlyExpired, longExpired, withoutSubscription].max() ?? .zero
        case .accountNotFound: accountNotFound
        case .unknownTransaction(.notFound): max(transactionNotFound, indexDelay)
        case .unknownTransaction(.idInvalid): transactionIDInvalid
        case .alias: alias
        case .unanswered(let reason): unanswered(reason)
        }
    }

    /// Returns the time for which a failure of this evidence is remembered.
    func unanswered(_ reason: DegradedReason) -> Duration {
        reason == .upstreamDisagrees ? disagreement : unanswerable
    }

    /// Returns the time after the end of its freshness for which a result is of use.
    private func staleness(of result: UpstreamResult) -> Duration {
        switch result {
        case .answered: staleIfError
        case .accountNotFound: staleWhileRevalidate
        case .unknownTransaction, .alias, .unanswered: .zero
        }
    }

    func span(of subscriptions: [Subscription], in environment: Environment?, at now: Timestamp) -> Duration {
        let longest = subscriptions.lazy.map { span(of: $0, at: now) }.min() ?? withoutSubscription
        return environment ?? .production == .production ? longest : min(longest, activeInSandbox)
    }

    private func span(of subscription: Subscription, at now: Timestamp) -> Duration {
        switch subscription.state {
        case .active: return subscription.isPaid ? active : unpaid
        case .inGracePeriod, .inBillingRetry: return unpaid
        case .expired, .revoked, .upgraded:
            return now < subscription.expiryOrder.advanced(by: .seconds(86_400)) ? recentlyExpired : longExpired
        }
    }
}

/// The rules by which evidence and results of Apple are assessed. An object, because each request has them.
final class EvaluationRules: Sendable {
    let freshness: FreshnessPolicy
    /// The time by which Apple's clock may be ahead of ours, and the time for which a renewal may be late.
    let clockSkew: Duration, lateRenewal: Duration

    init(freshness: FreshnessPolicy, clockSkew: Duration, lateRenewal: Duration) {
        (self.freshness, self.clockSkew, self.lateRenewal) = (freshness, clockSkew, lateRenewal)
    }

    /// Returns the rules for the states of subscriptions.
    /// - Parameter knownAt: the time of transactions and plans without a time of their own.
    func states(knownAt: Timestamp?, of subject: VerificationSubject) -> SubscriptionRules {
        SubscriptionRules(
            lateRenewal: lateRenewal, knownAt: knownAt, licenceEnd: subject.evidence?.licenceEnd)
    }
}
