// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import ReceiptForge
import Receipts
import Testing

private typealias Samples = EventSamples

/// The events of each type and subtype of Apple's notifications, after those before it.
struct NotificationTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let before: [NotifiedEvent]
        let notified: NotifiedEvent
        let types: [String]

        init(_ before: [NotifiedEvent], _ notified: NotifiedEvent, _ types: String...) {
            (self.before, self.notified, self.types) = (before, notified, types)
        }

        /// A notification after the first purchase.
        init(_ notified: NotifiedEvent, _ types: String...) {
            (before, self.notified, self.types) = ([Samples.subscribed], notified, types)
        }

        var testDescription: String { "\(notified.notificationType) \(notified.subtype ?? "")" }
    }

    static let rows = purchases + plans + ends + refunds + others

    @Test(arguments: rows) func `a notification makes the event of its change`(_ row: Row) throws {
        var chronicle = Chronicle()
        for event in row.before { chronicle.take(try SignedNotice(event)) }
        let notice = try SignedNotice(row.notified)
        let events = chronicle.take(notice)
        #expect(events.types == row.types)
        #expect(events.allSatisfy { $0.occurredAt == row.notified.signedDate })
        // Its state is known now, and its events are announced.
        #expect(chronicle.take(notice) == [])
    }

    private static let purchases: [Row] = [
        Row([], Samples.subscribed, "subscription.started"),
        Row(
            [Samples.subscribed, expired],
            Samples.notice("SUBSCRIBED", "RESUBSCRIBE", day: 40, later(.resubscribed), Samples.plan()),
            "subscription.started"),
        Row(Samples.notice("DID_RENEW", day: 30, Samples.period(2), Samples.plan()), "subscription.renewed"),
        Row(
            Samples.notice("DID_RENEW", "BILLING_RECOVERY", day: 33, Samples.period(2), Samples.plan()),
            "subscription.recovered"),
        Row(
            [Samples.subscribed, inGrace], Samples.notice("DID_RENEW", day: 33, Samples.period(2), Samples.plan()),
            "subscription.recovered"),
        Row(
            [Samples.subscribed, inRetry("DID_FAIL_TO_RENEW", day: 30)],
            Samples.notice("DID_RENEW", day: 33, Samples.period(2), Samples.plan()), "subscription.recovered"),
        Row(
            Samples.notice("DID_CHANGE_RENEWAL_PREF", "UPGRADE", day: 10, later(.upgraded), yearlyPlan),
            "subscription.plan_changed"),
        Row(
            Samples.notice("OFFER_REDEEMED", "UPGRADE", day: 10, later(.upgraded), yearlyPlan),
            "subscription.plan_changed"),
        Row([], Samples.notice("OFFER_REDEEMED", "INITIAL_BUY", day: 0, Samples.period(1)), "subscription.started"),
        Row(
            [Samples.subscribed, expired],
            Samples.notice("OFFER_REDEEMED", "RESUBSCRIBE", day: 40, later(.resubscribed), Samples.plan()),
            "subscription.started"),
        Row(Samples.notice("OFFER_REDEEMED", day: 10, Samples.period(1), Samples.plan())),
        Row([], Samples.notice("ONE_TIME_CHARGE", day: 0, Samples.item()), "purchase.completed"),
    ]

    private static let plans: [Row] = [
        Row(
            Samples.notice("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", day: 10, Samples.period(1), yearlyPlan),
            "subscription.plan_changed"),
        Row(
            Samples.notice("OFFER_REDEEMED", "DOWNGRADE", day: 10, Samples.period(1), yearlyPlan),
            "subscription.plan_changed"),
        Row(
            [
                Samples.subscribed,
                Samples.notice("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", day: 9, Samples.period(1), yearlyPlan),
            ],
            Samples.notice("DID_CHANGE_RENEWAL_PREF", day: 10, Samples.period(1), Samples.plan()),
            "subscription.plan_changed"),
        Row(disabled, "subscription.renewal_disabled"),
        Row([], disabled, "subscription.renewal_disabled"),
        Row(
            [Samples.subscribed, disabled],
            Samples.notice(
                "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", day: 20, Samples.period(1), Samples.plan()),
            "subscription.renewal_enabled"),
        // The customer cancels while Apple tries to collect the payment.
        Row(
            [Samples.subscribed, inRetry("DID_FAIL_TO_RENEW", day: 30)],
            Samples.notice(
                "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", day: 33, Samples.period(1),
                Samples.plan { ($0.autoRenewStatus, $0.expirationIntent, $0.isInBillingRetryPeriod) = (0, 2, true) }),
            "subscription.renewal_disabled"),
        // Monthly payments go on until the commitment ends.
        Row([committed()], committed("DID_CHANGE_RENEWAL_STATUS", day: 10, 0), "subscription.renewal_disabled"),
        Row([], committed("DID_CHANGE_RENEWAL_STATUS", day: 10, 0), "subscription.renewal_disabled"),
        Row(
            [committed(), committed("DID_CHANGE_RENEWAL_STATUS", day: 10, 0)],
            committed("DID_CHANGE_RENEWAL_STATUS", day: 20, 1), "subscription.renewal_enabled"),
        Row(
            [committed()], committed("DID_CHANGE_RENEWAL_PREF", day: 10, next: Samples.yearly),
            "subscription.plan_changed"),
        Row(
            Samples.notice(
                "PRICE_INCREASE", "PENDING", day: 10, Samples.period(1), Samples.plan { $0.priceIncreaseStatus = 0 }),
            "subscription.price_consent_required"),
        Row(
            Samples.notice(
                "PRICE_INCREASE", "ACCEPTED", day: 10, Samples.period(1), Samples.plan { $0.priceIncreaseStatus = 1 }),
            "unknown"),
    ]

    private static let ends: [Row] =
        [
            Row(inGrace, "subscription.entered_grace_period"),
            Row(inRetry("DID_FAIL_TO_RENEW", day: 30), "subscription.entered_billing_retry"),
            Row(
                [Samples.subscribed, inGrace], inRetry("GRACE_PERIOD_EXPIRED", day: 47),
                "subscription.entered_billing_retry"),
            Row([], inRetry("GRACE_PERIOD_EXPIRED", day: 47), "subscription.entered_billing_retry"),
        ]
        + ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", nil].flatMap { subtype in
            let notified = Samples.notice("EXPIRED", subtype, day: 30, hour: 1, Samples.period(1), endedPlan)
            return [Row(notified, "subscription.expired"), Row([], notified, "subscription.expired")]
        }

    private static let refunds: [Row] = [
        Row(refunded, "subscription.refunded"),
        // The plan is about a period that a later notification announces.
        Row(
            Samples.notice(
                "REFUND", day: 5, Samples.period(1) { $0.refund(onDay: 5) },
                Samples.plan { ($0.productID, $0.autoRenewProductID) = (Samples.yearly, Samples.yearly) }),
            "subscription.refunded"),
        Row(
            [Samples.notice("ONE_TIME_CHARGE", day: 0, Samples.item())],
            Samples.notice("REFUND", day: 5, Samples.item { $0.refund(onDay: 5) }), "purchase.refunded"),
        Row(
            [Samples.subscribed, refunded],
            Samples.notice("REFUND_REVERSED", day: 8, Samples.period(1), Samples.plan { $0.autoRenewStatus = 0 }),
            "subscription.refund_reversed"),
        Row(
            [
                Samples.notice("ONE_TIME_CHARGE", day: 0, Samples.item()),
                Samples.notice("REFUND", day: 5, Samples.item { $0.refund(onDay: 5) }),
            ],
            Samples.notice("REFUND_REVERSED", day: 6, Samples.item()), "purchase.refund_reversed"),
        Row(
            Samples.notice(
                "REVOKE", day: 5,
                Samples.period(1) {
                    $0.refund(onDay: 5)
                    ($0.revocationType, $0.inAppOwnershipType) = ("FAMILY_REVOKE", "FAMILY_SHARED")
                }),
            "family.revoked"),
        Row(
            Samples.notice("RENEWAL_EXTENDED", day: 5, Samples.period(1) { $0.expiresDate = Samples.day(37) }),
            "subscription.extended"),
    ]

    private static let others: [Row] =
        [Row(Samples.notice("CONSUMPTION_REQUEST", day: 5, Samples.period(1)), "consumption.requested")]
        + [
            ("REFUND_DECLINED", nil), ("PRICE_CHANGE", nil), ("RENEWAL_EXTENSION", "FAILURE"), ("METADATA_UPDATE", nil),
            ("MIGRATION", nil), ("MIGRATE", nil), ("RESCIND_CONSENT", nil), ("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED"),
            ("OF_NEXT_YEAR", nil), ("DID_RENEW", "OF_NEXT_YEAR"),
        ].map { type, subtype in Row(Samples.notice(type, subtype, day: 5, Samples.period(1)), "unknown") }
}

// MARK: - Parts of the stories

extension NotificationTableTests {
    private enum Purchase { case resubscribed, upgraded }

    private static func later(_ purchase: Purchase) -> TransactionContents {
        Samples.period(2) { period in
            period.transactionReason = "PURCHASE"
            switch purchase {
            case .resubscribed: (period.purchaseDate, period.expiresDate) = (Samples.day(40), Samples.day(70))
            case .upgraded:
                period.productID = Samples.yearly
                (period.purchaseDate, period.expiresDate) = (Samples.day(10), Samples.day(375))
            }
        }
    }

    private static let yearlyPlan = Samples.plan { $0.autoRenewProductID = Samples.yearly }

    private static let endedPlan = Samples.plan {
        ($0.autoRenewStatus, $0.expirationIntent, $0.isInBillingRetryPeriod) = (0, 1, false)
    }

    private static let expired = Samples.notice("EXPIRED", "VOLUNTARY", day: 31, Samples.period(1), endedPlan)

    private static let disabled = Samples.notice(
        "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", day: 10, Samples.period(1),
        Samples.plan { $0.autoRenewStatus = 0 })

    /// A notification about the first of twelve monthly payments.
    /// - Parameters:
    ///   - status: 1 if the commitment renews.
    ///   - next: the product after the commitment.
    private static func committed(
        _ type: String = "SUBSCRIBED", day: Int = 0, _ status: Int64 = 1, next: String = Samples.monthly
    ) -> NotifiedEvent {
        Samples.notice(
            type, day: day, Samples.period(1) { $0.billingPlanType = "MONTHLY" },
            Samples.plan {
                $0.commitment = RenewalInfoContents.Commitment(
                    autoRenewProductID: next, autoRenewStatus: status, renewalDate: Samples.day(365), renewalPrice: 1)
            })
    }

    private static let inGrace = Samples.notice(
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD", day: 30, Samples.period(1),
        Samples.plan {
            ($0.expirationIntent, $0.isInBillingRetryPeriod, $0.gracePeriodExpiresDate) = (2, true, Samples.day(46))
        })

    private static func inRetry(_ type: String, day number: Int) -> NotifiedEvent {
        Samples.notice(
            type, day: number, Samples.period(1),
            Samples.plan { ($0.expirationIntent, $0.isInBillingRetryPeriod) = (2, true) })
    }

    private static let refunded = Samples.notice(
        "REFUND", day: 5, Samples.period(1) { $0.refund(onDay: 5) },
        Samples.plan { ($0.autoRenewStatus, $0.expirationIntent) = (0, 1) })
}

// MARK: - Version 1

/// Notifications of version 1, in which only a receipt is signed.
struct NotificationV1TableTests {
    @Test(arguments: [
        ("DID_RENEW", "subscription.renewed"), ("RENEWAL", "subscription.renewed"),
        ("DID_RECOVER", "subscription.recovered"), ("INTERACTIVE_RENEWAL", "subscription.started"),
    ])
    func `a notification of version 1 makes the event of its period`(_ type: String, _ event: String) {
        var chronicle = Chronicle()
        let first = Transaction.inReceipt(Samples.period(1)), second = Transaction.inReceipt(Samples.period(2))
        let bought = chronicle.take(SignedNotice(version1: "INITIAL_BUY", first, signedAt: Samples.day(0)))
        #expect(bought.types == ["subscription.started"])
        let events = chronicle.take(SignedNotice(version1: type, second, signedAt: Samples.day(30)))
        #expect(events.types == [event])
    }

    @Test(arguments: [
        ("CANCEL", "subscription.refunded"), ("REFUND", "subscription.refunded"), ("REVOKE", "family.revoked"),
    ])
    func `a notification of version 1 makes the event of its refund`(_ type: String, _ event: String) {
        var chronicle = Chronicle()
        chronicle.take(
            SignedNotice(version1: "INITIAL_BUY", .inReceipt(Samples.period(1)), signedAt: Samples.day(0)))
        let refunded = Transaction.inReceipt(Samples.period(1) { $0.refund(onDay: 5) })
        #expect(chronicle.take(SignedNotice(version1: type, refunded, signedAt: Samples.day(5))).types == [event])
    }

    @Test func `an upgrade cancels the old period in receipts, which is no refund`() {
        var chronicle = Chronicle()
        let first = SignedNotice(version1: "INITIAL_BUY", .inReceipt(Samples.period(1)), signedAt: Samples.day(0))
        chronicle.take(first)
        let cancelled = Samples.period(1) { $0.revocationDate = Samples.day(10) }
        let upgrade = Samples.period(2) { period in
            (period.productID, period.purchaseDate) = (Samples.yearly, Samples.day(10))
            period.expiresDate = Samples.day(375)
        }
        let notices = [cancelled, upgrade].map {
            SignedNotice(version1: "CANCEL", .inReceipt($0), signedAt: Samples.day(10, hour: 1))
        }
        let events = chronicle.apply(
            notices.map(\.transaction), nil, to: Samples.chain, notices[1].cause, at: Samples.day(10, hour: 1))
        #expect(events.types == ["subscription.plan_changed"])
    }

    @Test(arguments: ["PRICE_INCREASE_CONSENT", "OF_ANOTHER_YEAR"])
    func `other types of version 1 prove nothing, and make no event`(_ type: String) {
        var chronicle = Chronicle()
        let period = Transaction.inReceipt(Samples.period(1))
        chronicle.take(SignedNotice(version1: "INITIAL_BUY", period, signedAt: Samples.day(0)))
        let notice = SignedNotice(version1: type, period, signedAt: Samples.day(5))
        #expect(chronicle.take(notice) == [])
    }

    @Test func `a renewal status without a signed plan makes no event`() {
        var chronicle = Chronicle()
        let period = Transaction.inReceipt(Samples.period(1))
        chronicle.take(SignedNotice(version1: "INITIAL_BUY", period, signedAt: Samples.day(0)))
        let notice = SignedNotice(version1: "DID_CHANGE_RENEWAL_STATUS", period, signedAt: Samples.day(5))
        #expect(chronicle.take(notice) == [])
    }
}
