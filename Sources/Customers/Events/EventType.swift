// SPDX-License-Identifier: Apache-2.0

/// The kind of change that an event reports. The raw values appear in the API (docs/events.yaml). `PlanChange` and
/// `TransactionChange` derive the changes; `EventContents` names them in IDs.
package enum EventType: String, CaseIterable, Hashable, Sendable {
    case subscriptionStarted = "subscription.started"
    case subscriptionRenewed = "subscription.renewed"
    /// A failed payment was collected after all.
    case subscriptionRecovered = "subscription.recovered"
    case subscriptionRenewalDisabled = "subscription.renewal_disabled"
    case subscriptionRenewalEnabled = "subscription.renewal_enabled"
    case subscriptionPlanChanged = "subscription.plan_changed"
    case subscriptionEnteredGracePeriod = "subscription.entered_grace_period"
    case subscriptionEnteredBillingRetry = "subscription.entered_billing_retry"
    case subscriptionExpired = "subscription.expired"
    case subscriptionRefunded = "subscription.refunded"
    case subscriptionRefundReversed = "subscription.refund_reversed"
    /// Apple or the developer moved the end of the period.
    case subscriptionExtended = "subscription.extended"
    case subscriptionPriceConsentRequired = "subscription.price_consent_required"
    case purchaseCompleted = "purchase.completed"
    case purchaseRefunded = "purchase.refunded"
    case purchaseRefundReversed = "purchase.refund_reversed"
    /// Apple asks for consumption information before it decides on a refund, within 12 hours.
    case consumptionRequested = "consumption.requested"
    /// A family member no longer shares the purchase.
    case familyRevoked = "family.revoked"
    case fraudSuspected = "fraud.suspected"
    case verificationCompleted = "verification.completed"
    /// A notification without another event, passed on with its type.
    case unknown

    /// Returns the types that a pattern names: one type, or all of a kind (`subscription.*`); none for any other text.
    package static func matching(_ pattern: some StringProtocol) -> Set<EventType> {
        guard pattern.hasSuffix(".*") else { return Set(EventType(rawValue: String(pattern)).map { [$0] } ?? []) }
        let prefix = pattern.dropLast()
        return Set(allCases.filter { $0.rawValue.hasPrefix(prefix) && prefix.count > 1 })
    }
}
