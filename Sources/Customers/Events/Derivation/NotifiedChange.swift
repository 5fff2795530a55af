// SPDX-License-Identifier: Apache-2.0

/// The change that a notification's type and subtype name, in the words of both versions (App Store Server
/// Notifications, `notificationType` and `notification_type`). It is a hint: the state decides.
enum NotifiedChange: Hashable, Sendable {
    case purchase
    case renewal
    /// A renewal after a failed payment.
    case recovery
    /// The transaction of the notification replaced another product.
    case upgrade
    case nextProduct
    case renewalStatus
    /// An offer for the product that the customer has.
    case offer
    case paymentFailure
    case expiry
    case priceConsent
    case refund
    case familyRevocation
    case refundReversal
    case `extension`
    case consumptionRequest
    /// None of these: the notification is passed on.
    case unknown

    init(type: String, subtype: String?) {
        self = Self.all[[type, subtype ?? ""].filter { !$0.isEmpty }.joined(separator: " ")] ?? .unknown
    }

    private static let all: [String: NotifiedChange] = [
        "CANCEL": .refund,
        "CONSUMPTION_REQUEST": .consumptionRequest,
        "DID_CHANGE_RENEWAL_PREF": .nextProduct,
        "DID_CHANGE_RENEWAL_PREF DOWNGRADE": .nextProduct,
        "DID_CHANGE_RENEWAL_PREF UPGRADE": .upgrade,
        "DID_CHANGE_RENEWAL_STATUS": .renewalStatus,
        "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED": .renewalStatus,
        "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED": .renewalStatus,
        "DID_FAIL_TO_RENEW": .paymentFailure,
        "DID_FAIL_TO_RENEW GRACE_PERIOD": .paymentFailure,
        "DID_RECOVER": .recovery,
        "DID_RENEW": .renewal,
        "DID_RENEW BILLING_RECOVERY": .recovery,
        "EXPIRED": .expiry,
        "EXPIRED BILLING_RETRY": .expiry,
        "EXPIRED PRICE_INCREASE": .expiry,
        "EXPIRED PRODUCT_NOT_FOR_SALE": .expiry,
        "EXPIRED VOLUNTARY": .expiry,
        "GRACE_PERIOD_EXPIRED": .paymentFailure,
        "INITIAL_BUY": .purchase,
        "INTERACTIVE_RENEWAL": .purchase,
        "OFFER_REDEEMED": .offer,
        "OFFER_REDEEMED DOWNGRADE": .nextProduct,
        "OFFER_REDEEMED INITIAL_BUY": .purchase,
        "OFFER_REDEEMED RESUBSCRIBE": .purchase,
        "OFFER_REDEEMED UPGRADE": .upgrade,
        "ONE_TIME_CHARGE": .purchase,
        "PRICE_INCREASE PENDING": .priceConsent,
        "REFUND": .refund,
        "REFUND_REVERSED": .refundReversal,
        "RENEWAL": .renewal,
        "RENEWAL_EXTENDED": .extension,
        "REVOKE": .familyRevocation,
        "SUBSCRIBED INITIAL_BUY": .purchase,
        "SUBSCRIBED RESUBSCRIBE": .purchase,
    ]

    /// True if the transaction of the notification began with it.
    var beginsPeriod: Bool { [.purchase, .renewal, .recovery, .upgrade].contains(self) }

    var revokes: Bool { self == .refund || self == .familyRevocation }
}

extension EventCause {
    /// The change that the notification names; nil for another cause.
    var notifiedChange: NotifiedChange? {
        guard source == .notification else { return nil }
        let change = NotifiedChange(type: notificationType ?? "", subtype: subtype)
        // In version 1 the type is not signed, and no signed state shows these two. Old apps have the secret.
        let isUnproven = notificationUUID == nil && (change == .refundReversal || change == .extension)
        return isUnproven ? .unknown : change
    }
}
