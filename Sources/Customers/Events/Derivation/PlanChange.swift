// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// Apple's plan for a subscription before and after. Only a newer plan makes events, because plans go back and forth.
struct PlanChange: Sendable {
    let before: Renewal?
    let after: Renewal
    let signedDate: Timestamp
    let chain: ChainChange
    let period: Transaction
    /// The periods whose beginning the same transition announces.
    let periods: [EventContents]

    /// Nil without a newer plan, or a period that it is about.
    init?(_ chain: ChainChange, announcing contents: [EventContents]) {
        guard let renewal = chain.renewal, let signedDate = renewal.signedDate else { return nil }
        if let known = chain.previousRenewal?.signedDate, signedDate <= known { return nil }
        guard let period = chain.transactions.filter(\.isSubscription).newest else { return nil }
        (before, after, self.signedDate) = (chain.previousRenewal, renewal, signedDate)
        (self.chain, self.period) = (chain, period)
        periods = contents.filter { $0.change == .period }
    }

    var contents: [EventContents] { [renewalStatus, nextProduct, priceConsent, lapse].compactMap(\.self) }

    private var named: NotifiedChange? { chain.transition.cause.notifiedChange }

    private func event(_ type: EventType, _ change: EventContents.Change) -> EventContents {
        let key = [after.originalTransactionID, signedDate.key]
        var contents = EventContents(type, change, of: key, at: signedDate, period)
        contents.renewal = after
        return contents
    }

    /// Without an earlier plan, only a notification shows that this plan is another.
    private func isChange(_ change: NotifiedChange, _ isDifferent: (Renewal) -> Bool) -> Bool {
        before.map(isDifferent) ?? (named == change)
    }

    private var renewalStatus: EventContents? {
        guard let willRenew = next(after).willRenew, isChange(.renewalStatus, { next($0).willRenew != willRenew })
        else {
            return nil
        }
        if willRenew {
            // A subscription that starts renews.
            return periods.isEmpty ? event(.subscriptionRenewalEnabled, .renewal) : nil
        }
        // A subscription that ended does not renew. While Apple tries to collect a payment, the customer may still cancel.
        return after.expirationIntent == nil || after.isInBillingRetry == true
            ? event(.subscriptionRenewalDisabled, .renewal) : nil
    }

    private var nextProduct: EventContents? {
        let planned = next(after)
        guard let product = planned.productID, planned.willRenew != false,
            isChange(.nextProduct, { next($0).productID != product }), !hasBegun(product),
            !periods.contains(where: { $0.transaction?.productID == product })
        else { return nil }
        var contents = event(.subscriptionPlanChanged, .nextProduct)
        contents.effectiveDate = planned.date ?? period.expiresDate
        return contents
    }

    private func next(_ plan: Renewal) -> Renewal.Next { plan.next(after: period) }

    /// Returns true if the plan is about a product whose period is not known yet: the period's own transaction announces it.
    private func hasBegun(_ product: String) -> Bool {
        guard let known = before?.productID else { return false }
        return after.productID == product && known != product
    }

    private var priceConsent: EventContents? {
        guard after.priceConsent == .pending, isChange(.priceConsent, { $0.priceConsent != .pending }) else {
            return nil
        }
        return event(.subscriptionPriceConsentRequired, .priceConsent)
    }

    private var lapse: EventContents? {
        guard let period = PaidPeriod(chain.transactions, after, at: signedDate) else { return nil }
        let isNamed = named == .paymentFailure || named == .expiry
        let isKnown = chain.before(period.transaction) != nil
        let isRecent = period.end >= signedDate.advanced(by: .zero - StateTransition.Limits.window)
        guard isNamed || isKnown || isRecent else { return nil }
        return period.lapse(at: signedDate, isExpired: named == .expiry).map { period.event($0, at: signedDate) }
    }
}
