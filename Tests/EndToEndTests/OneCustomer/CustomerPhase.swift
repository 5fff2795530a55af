// SPDX-License-Identifier: Apache-2.0

import AppleSimulator

/// A phase of a weekly subscription: what happens at Apple, and what each protocol must say about it afterwards.
///
/// Days count from the purchase, rounded down.
struct CustomerPhase: Sendable {
    let name: String
    /// The day on which it happens.
    let day: Int64
    /// The change at Apple, of which Apple notifies the gateway.
    let change: NotificationKind
    /// `GET /v1/events`.
    let event: String
    /// `POST /v1/verify`, signed or not, for each kind of evidence.
    let verdict: String
    /// `POST /verifyReceipt` and `POST /api`.
    let appleForm: String
    /// `POST /v1/validate`, for both kinds of evidence.
    let validated: String
    /// `POST /v1/purchase/verify`.
    let purchase: String

    static let all = [
        CustomerPhase(
            name: "purchase", day: 0, change: NotificationKind("SUBSCRIBED", "INITIAL_BUY"),
            event: "subscription.started, ends day 7",
            verdict: "genuine, active until day 7",
            appleForm: "status 0, ends day 7",
            validated: "owned until day 7, Renew",
            purchase: "ENTITLED"),
        CustomerPhase(
            name: "renewal", day: 7, change: NotificationKind("DID_RENEW"),
            event: "subscription.renewed, ends day 14",
            verdict: "genuine, active until day 14",
            appleForm: "status 0, ends day 14",
            validated: "owned until day 14, Renew",
            purchase: "ENTITLED"),
        CustomerPhase(
            name: "grace period", day: 14, change: NotificationKind("DID_FAIL_TO_RENEW", "GRACE_PERIOD"),
            event: "subscription.entered_grace_period, ends day 14",
            verdict: "genuine, in_grace_period until day 30",
            appleForm: "status 0, ends day 14, grace until day 30, in billing retry",
            validated: "owned until day 30, Renew, in billing retry",
            purchase: "ENTITLED"),
        CustomerPhase(
            name: "recovery", day: 15, change: NotificationKind("DID_RENEW", "BILLING_RECOVERY"),
            event: "subscription.recovered, ends day 22",
            verdict: "genuine, active until day 22",
            appleForm: "status 0, ends day 22",
            validated: "owned until day 22, Renew",
            purchase: "ENTITLED"),
        // The period would run for days: no date alone shows the refund.
        CustomerPhase(
            name: "refund", day: 16, change: NotificationKind("REFUND"),
            event: "subscription.refunded, ends day 22",
            verdict: "genuine, revoked",
            appleForm: "status 0, ends day 22, cancelled day 16",
            validated: "expired day 22, Lapse, Customer.OtherReason",
            purchase: "CANCELED"),
    ]
}
