// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A change of a customer's account that a notification announces.
enum AccountEvent: Hashable, Sendable {
    /// A period follows the last period.
    case renewed
    /// A period follows the last period, or begins now if the last period ended.
    case resubscribed, recovered
    /// Another product, now.
    case upgraded
    /// Another product from the next period on.
    case downgraded
    /// The same product again from the next period on.
    case downgradeWithdrawn
    case autoRenewal(isOn: Bool)
    /// An offer for the next period.
    case offerRedeemed
    case paymentFailed(hasGracePeriod: Bool)
    case gracePeriodExpired
    /// For reason 1 (cancelled), 2 (billing), 3 (price increase), 4 (product withdrawn) or 5 (other).
    case expired(intent: Int)
    case priceIncrease(isAccepted: Bool)
    case refunded, refundReversed, familySharingEnded
    case renewalExtended
    /// A consumable is bought.
    case bought
}

extension AccountEvent {
    /// Returns nil for a notification that changes nothing, and for unknown types.
    init?(_ kind: NotificationKind) {
        guard let event = Self.subscription(kind) ?? Self.renewal(kind) ?? Self.end(kind) else { return nil }
        self = event
    }

    private static func subscription(_ kind: NotificationKind) -> AccountEvent? {
        switch (kind.type, kind.subtype) {
        case ("SUBSCRIBED", "RESUBSCRIBE"): .resubscribed
        case ("DID_RENEW", "BILLING_RECOVERY"): .recovered
        case ("DID_RENEW", _): .renewed
        case ("RENEWAL_EXTENDED", _): .renewalExtended
        case ("ONE_TIME_CHARGE", _): .bought
        default: nil
        }
    }

    private static func renewal(_ kind: NotificationKind) -> AccountEvent? {
        switch (kind.type, kind.subtype) {
        case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("OFFER_REDEEMED", "UPGRADE"): .upgraded
        case ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), ("OFFER_REDEEMED", "DOWNGRADE"): .downgraded
        case ("DID_CHANGE_RENEWAL_PREF", _): .downgradeWithdrawn
        case ("OFFER_REDEEMED", _): .offerRedeemed
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): .autoRenewal(isOn: true)
        case ("DID_CHANGE_RENEWAL_STATUS", _): .autoRenewal(isOn: false)
        case ("PRICE_INCREASE", let subtype): .priceIncrease(isAccepted: subtype == "ACCEPTED")
        default: nil
        }
    }

    private static func end(_ kind: NotificationKind) -> AccountEvent? {
        switch (kind.type, kind.subtype) {
        case ("DID_FAIL_TO_RENEW", let subtype): .paymentFailed(hasGracePeriod: subtype == "GRACE_PERIOD")
        case ("GRACE_PERIOD_EXPIRED", _): .gracePeriodExpired
        case ("EXPIRED", let subtype): .expired(intent: expirationIntents[subtype ?? ""] ?? 5)
        case ("REFUND", _): .refunded
        case ("REFUND_REVERSED", _): .refundReversed
        case ("REVOKE", _): .familySharingEnded
        default: nil
        }
    }

    private static let expirationIntents = [
        "VOLUNTARY": 1, "BILLING_RETRY": 2, "PRICE_INCREASE": 3, "PRODUCT_NOT_FOR_SALE": 4,
    ]
}
