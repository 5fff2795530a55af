// SPDX-License-Identifier: Apache-2.0

import Customers
import JSON
import ReceiptForge
import Receipts
import Testing

private typealias Samples = EventSamples

/// The events that dates alone make.
struct EventScheduleTests {
    private static let failed = Samples.plan { ($0.expirationIntent, $0.isInBillingRetryPeriod) = (2, true) }

    private static func subscribed() throws -> Chronicle {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        return chronicle
    }

    @Test func `a period that ends without a notification expires after the delay`() throws {
        var chronicle = try Self.subscribed()
        #expect(chronicle.nextEventTime() == Samples.day(30, hour: 1))
        #expect(chronicle.pass(to: Samples.day(30, hour: 1).advanced(by: .milliseconds(-1))) == [])
        let events = chronicle.wait()
        #expect(events.types == ["subscription.expired"] && events[0].occurredAt == Samples.day(30))
        #expect(try events[0].data["cause"]?["source"]?.string == "schedule")
        #expect(chronicle.nextEventTime() == nil)
        #expect(chronicle.pass(to: Samples.day(40)) == [])
    }

    @Test func `the schedule and a notification announce one expiry`() throws {
        let plan = Samples.plan { ($0.autoRenewStatus, $0.expirationIntent) = (0, 1) }
        let expired = try SignedNotice(Samples.notice("EXPIRED", "VOLUNTARY", day: 31, Samples.period(1), plan))
        var scheduled = try Self.subscribed(), notified = scheduled
        let first = scheduled.wait()
        #expect(scheduled.take(expired) == [])
        #expect(notified.take(expired).map(\.id) == first.map(\.id))
        #expect(notified.nextEventTime() == nil)
    }

    @Test func `a renewal moves the expiry`() throws {
        var chronicle = try Self.subscribed()
        chronicle.take(try SignedNotice(Samples.notice("DID_RENEW", day: 30, Samples.period(2), Samples.plan())))
        #expect(chronicle.pass(to: Samples.day(31)) == [])
        #expect(chronicle.nextEventTime() == Samples.day(60, hour: 1))
    }

    @Test func `a grace period ends in billing retry, and that after 60 days`() throws {
        var chronicle = try Self.subscribed()
        var plan = Self.failed
        plan.gracePeriodExpiresDate = Samples.day(46)
        let failed = Samples.notice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", day: 30, Samples.period(1), plan)
        #expect(chronicle.take(try SignedNotice(failed)).types == ["subscription.entered_grace_period"])
        #expect(chronicle.nextEventTime() == Samples.day(46))
        let retry = chronicle.wait()
        #expect(retry.types == ["subscription.entered_billing_retry"] && retry[0].occurredAt == Samples.day(46))
        #expect(chronicle.nextEventTime() == Samples.day(90, hour: 1))
        let expired = chronicle.wait()
        #expect(expired.types == ["subscription.expired"] && expired[0].occurredAt == Samples.day(90))
        #expect(chronicle.nextEventTime() == nil)
    }

    @Test func `the retry of a payment within a commitment ends after 90 days`() throws {
        var chronicle = try Self.subscribed()
        let month = Samples.period(1) { $0.billingPlanType = "MONTHLY" }
        let failed = Samples.notice("DID_FAIL_TO_RENEW", day: 30, month, Self.failed)
        #expect(chronicle.take(try SignedNotice(failed)).types == ["subscription.entered_billing_retry"])
        #expect(chronicle.nextEventTime() == Samples.day(120, hour: 1))
    }

    @Test func `a gateway that was off makes all that is due, in order`() throws {
        var chronicle = try Self.subscribed()
        var plan = Self.failed
        plan.gracePeriodExpiresDate = Samples.day(46)
        chronicle.take(
            try SignedNotice(Samples.notice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", day: 30, Samples.period(1), plan)))
        let events = chronicle.pass(to: Samples.day(50)) + chronicle.pass(to: Samples.day(95))
        #expect(events.types == ["subscription.entered_billing_retry", "subscription.expired"])
    }

    @Test func `a gateway that was off for long makes no event of dates that are history`() throws {
        var chronicle = try Self.subscribed()
        #expect(chronicle.pass(to: Samples.day(200)) == [])
        #expect(chronicle.nextEventTime() != nil)
        #expect(chronicle.nextEventTime(at: Samples.day(200)) == nil)
    }

    @Test func `a grace period without billing retry ends with expiry`() throws {
        var chronicle = try Self.subscribed()
        let plan = Samples.plan { $0.gracePeriodExpiresDate = Samples.day(46) }
        chronicle.take(
            try SignedNotice(Samples.notice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", day: 30, Samples.period(1), plan)))
        #expect(chronicle.nextEventTime() == Samples.day(46, hour: 1))
        let events = chronicle.wait()
        #expect(events.types == ["subscription.expired"] && events[0].occurredAt == Samples.day(46))
    }

    @Test func `a refund and an upgrade end the schedule`() throws {
        for edit in [{ $0.refund(onDay: 5) }, { $0.isUpgraded = true }] as [(inout TransactionContents) -> Void] {
            var chronicle = try Self.subscribed()
            chronicle.take(try SignedNotice(Samples.notice("REFUND", day: 5, Samples.period(1, edit))))
            #expect(chronicle.nextEventTime() == nil)
            #expect(chronicle.pass(to: Samples.day(40)) == [])
        }
    }

    @Test func `the refund of an earlier period leaves the schedule as it is`() throws {
        var chronicle = try Self.subscribed()
        chronicle.take(try SignedNotice(Samples.notice("DID_RENEW", day: 30, Samples.period(2), Samples.plan())))
        let earlier = Samples.period(1) { $0.refund(onDay: 35) }
        chronicle.take(try SignedNotice(Samples.notice("REFUND", day: 35, earlier, Samples.plan())))
        #expect(chronicle.nextEventTime() == Samples.day(60, hour: 1))
    }

    @Test func `a purchase that is no subscription has no schedule`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.notice("ONE_TIME_CHARGE", day: 0, Samples.item())))
        #expect(chronicle.nextEventTime() == nil)
    }

    @Test func `a plan signed just after the end does not mean that it expired`() throws {
        var chronicle = try Self.subscribed()
        let toggled = Samples.notice("PRICE_INCREASE", "PENDING", day: 30, hour: 0, Samples.period(1), Samples.plan())
        #expect(chronicle.take(try SignedNotice(toggled)) == [])
    }
}
