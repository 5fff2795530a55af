// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing

@testable import Customers

private typealias Samples = EventSamples

/// The rules for news: each change is announced once, and history is not.
struct StateTransitionTests {
    // MARK: History

    @Test func `a gateway that is new does not announce what is long past`() throws {
        var chronicle = Chronicle()
        let plan = Samples.plan { $0.autoRenewStatus = 0 }
        let notice = Samples.notice(
            "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", day: 20, Samples.period(1), plan)
        #expect(try chronicle.take(SignedNotice(notice)).types == ["subscription.renewal_disabled"])
        var refunded = Samples.period(2)
        refunded.refund(onDay: 31)
        let verified = try Transaction.verified(refunded, onDay: 45)
        #expect(chronicle.verify([verified], at: Samples.day(45)) == [])
    }

    @Test func `the window for periods ends after 8 days`() throws {
        for (day, types) in [(8, ["subscription.started"]), (9, [])] {
            var chronicle = Chronicle()
            let transaction = try Transaction.verified(Samples.period(1), onDay: day)
            #expect(chronicle.verify([transaction], at: Samples.day(day)).types == types)
        }
    }

    @Test func `an expired subscription that is verified for the first time makes no event`() throws {
        var chronicle = Chronicle()
        let transaction = try Transaction.verified(Samples.period(1), onDay: 60)
        #expect(chronicle.verify([transaction], at: Samples.day(60)) == [])
        #expect(chronicle.nextEventTime() == nil)
    }

    @Test func `a notification of Apple's history announces the change that it names, however old it is`() throws {
        var chronicle = Chronicle()
        let later = Samples.day(170)
        #expect(chronicle.take(try SignedNotice(Samples.subscribed), at: later).types == ["subscription.started"])
        let refund = Samples.notice("REFUND", day: 20, Samples.period(1) { $0.refund(onDay: 20) })
        #expect(chronicle.take(try SignedNotice(refund), at: later).types == ["subscription.refunded"])
    }

    // MARK: Two sources

    @Test func `a notification that follows a verification announces nothing again`() throws {
        var chronicle = Chronicle()
        let verified = try Transaction.verified(Samples.period(1), onDay: 1)
        let events = chronicle.verify([verified], at: Samples.day(1))
        #expect(events.types == ["subscription.started"])
        #expect(chronicle.take(try SignedNotice(Samples.subscribed)) == [])
        // Without the list, the event has the same ID.
        var other = Chronicle()
        #expect(other.take(try SignedNotice(Samples.subscribed)).map(\.id) == events.map(\.id))
    }

    @Test func `a late notification makes its event although the state is newer`() throws {
        var chronicle = Chronicle()
        let refund = Samples.notice("REFUND", day: 20, Samples.period(1) { $0.refund(onDay: 20) })
        #expect(chronicle.take(try SignedNotice(refund)).types == ["subscription.refunded"])
        let events = chronicle.take(try SignedNotice(Samples.subscribed))
        #expect(events.types == ["subscription.started"] && events[0].occurredAt == Samples.day(0))
        // It shows the refund, so that a client does not grant access.
        #expect(
            try events[0].data["cancellation_date_ms"]?.number?.integer == Samples.day(20).millisecondsSince1970)
    }

    @Test func `a late refund makes its event although it was reversed`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let reversed = Samples.notice("REFUND_REVERSED", day: 7, Samples.period(1))
        #expect(chronicle.take(try SignedNotice(reversed)).types == ["subscription.refund_reversed"])
        let refund = Samples.notice("REFUND", day: 5, Samples.period(1) { $0.refund(onDay: 5) })
        #expect(chronicle.take(try SignedNotice(refund)).types == ["subscription.refunded"])
    }

    @Test func `a refund whose date differs between Apple's sources is one refund`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let verified = try Transaction.verified(Samples.period(1) { $0.refund(onDay: 5) }, onDay: 6)
        #expect(chronicle.verify([verified], at: Samples.day(6)).types == ["subscription.refunded"])
        let other = Samples.period(1) {
            $0.refund(onDay: 5)
            $0.revocationDate = $0.revocationDate?.advanced(by: .seconds(-2))
        }
        #expect(chronicle.take(try SignedNotice(Samples.notice("REFUND", day: 5, other))) == [])
    }

    @Test func `a second notification of one refund with another date makes no event`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        for (day, types) in [(5, ["subscription.refunded"]), (9, [])] {
            let refund = Samples.notice("REFUND", day: day, Samples.period(1) { $0.refund(onDay: day) })
            #expect(chronicle.take(try SignedNotice(refund)).types == types)
        }
    }

    @Test func `one purchase under two transaction IDs makes each event once`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        func copy(_ edit: (inout TransactionContents) -> Void = { _ in }) -> TransactionContents {
            Samples.period(1) {
                $0.transactionID = ($0.transactionID ?? "") + "7"
                edit(&$0)
            }
        }
        let again = Samples.notice("SUBSCRIBED", "INITIAL_BUY", day: 1, copy())
        #expect(chronicle.take(try SignedNotice(again)) == [])
        let refund = Samples.notice("REFUND", day: 5, copy { $0.refund(onDay: 5) })
        #expect(chronicle.take(try SignedNotice(refund)).types == ["subscription.refunded"])
        let other = Samples.notice("REFUND", day: 5, Samples.period(1) { $0.refund(onDay: 5) })
        #expect(chronicle.take(try SignedNotice(other)) == [])
        let purchases = try [Samples.period(1), copy()].map { try Transaction.verified($0, onDay: 1) }
        var verified = Chronicle()
        #expect(verified.verify(purchases, at: Samples.day(1)).types == ["subscription.started"])
    }

    @Test func `a second refund and its reversal are events of their own`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        for day in [5, 15] {
            let refund = Samples.notice("REFUND", day: day, Samples.period(1) { $0.refund(onDay: day) })
            #expect(chronicle.take(try SignedNotice(refund)).types == ["subscription.refunded"])
            let reversed = Samples.notice("REFUND_REVERSED", day: day + 1, Samples.period(1))
            #expect(chronicle.take(try SignedNotice(reversed)).types == ["subscription.refund_reversed"])
        }
        #expect(Set(chronicle.events.map(\.id)).count == 5)
    }

    // MARK: Plans

    @Test func `an older plan changes nothing`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let plans = [(20, Int64(1)), (10, 0)].map { day, status in
            Samples.notice(
                "DID_CHANGE_RENEWAL_STATUS", status == 1 ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED", day: day,
                Samples.period(1), Samples.plan { $0.autoRenewStatus = status })
        }
        for plan in plans { #expect(chronicle.take(try SignedNotice(plan)) == []) }
    }

    @Test func `a plan that is known makes no event, even if the announced ones are forgotten`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let plan = Samples.plan { ($0.autoRenewStatus, $0.expirationIntent) = (0, 1) }
        let notice = try SignedNotice(Samples.notice("EXPIRED", "VOLUNTARY", day: 31, Samples.period(1), plan))
        #expect(chronicle.take(notice).types == ["subscription.expired"])
        chronicle.forgetAnnounced()
        #expect(chronicle.take(notice) == [])
    }

    @Test func `a downgrade is announced when it is chosen, and its period when it begins`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let plan = Samples.plan { $0.autoRenewProductID = "com.example.forge.basic" }
        let chosen = Samples.notice("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", day: 10, Samples.period(1), plan)
        let change = try #require(chronicle.take(try SignedNotice(chosen)).first)
        #expect(try change.data["auto_renew_product_id"]?.string == "com.example.forge.basic")
        #expect(try change.data["product_id"]?.string == Samples.monthly)
        #expect(try change.data["effective_date"]?.string == Samples.day(30).description)
        let period = Samples.period(2) { $0.productID = "com.example.forge.basic" }
        let renewed = chronicle.take(try SignedNotice(Samples.notice("DID_RENEW", day: 30, period, plan)))
        #expect(renewed.types == ["subscription.renewed"])
        #expect(try renewed[0].data["previous_product_id"]?.string == Samples.monthly)
    }

    @Test func `a renewal after an upgrade is no second upgrade`() throws {
        var chronicle = Chronicle()
        let yearly = Samples.period(1) { ($0.productID, $0.expiresDate) = (Samples.yearly, Samples.day(365)) }
        chronicle.take(try SignedNotice(Samples.notice("SUBSCRIBED", "INITIAL_BUY", day: 0, yearly)))
        let upgrade = Samples.period(2) { $0.transactionReason = "PURCHASE" }
        let changed = chronicle.take(
            try SignedNotice(Samples.notice("DID_CHANGE_RENEWAL_PREF", "UPGRADE", day: 30, upgrade)))
        #expect(
            try changed.types == ["subscription.plan_changed"]
                && changed[0].data["previous_product_id"]?.string == Samples.yearly)
        let renewed = try chronicle.take(SignedNotice(Samples.notice("DID_RENEW", day: 60, Samples.period(3))))
        #expect(renewed.types == ["subscription.renewed"])
        #expect(try renewed[0].data["previous_product_id"] == nil)
    }

    // MARK: Notifications without state

    @Test func `consumption requests of one day are one event with a deadline`() throws {
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.subscribed))
        let requests = [(5, 0), (5, 2), (6, 0)].map {
            Samples.notice("CONSUMPTION_REQUEST", day: $0.0, hour: $0.1, Samples.period(1))
        }
        let events = try requests.map { try chronicle.take(SignedNotice($0)) }
        #expect(events.map(\.count) == [1, 0, 1])
        #expect(try events[0][0].data["deadline"]?.string == Samples.day(5, hour: 12).description)
    }

    @Test(arguments: ["CONSUMPTION_REQUEST", "REFUND_DECLINED"])
    func `notifications without state make no event after 8 days`(_ type: String) throws {
        let notice = try SignedNotice(Samples.notice(type, day: 5, Samples.period(1)))
        for (day, count) in [(13, 1), (14, 0)] {
            var chronicle = Chronicle()
            chronicle.take(try SignedNotice(Samples.subscribed))
            #expect(chronicle.take(notice, at: Samples.day(day)).count == count)
        }
    }

    @Test func `a notification about no purchase is passed on, unless it is old`() throws {
        var cause = EventCause(source: .notification, signedDate: Samples.day(0))
        (cause.notificationType, cause.notificationUUID) = ("TEST", "0F2B7A52-8c14-4b8e-8a5e-1c9d3e7f6a01")
        cause.summary = Array(#"{"succeededCount":5}"#.utf8)
        func event(_ day: Int) -> Event? {
            Event.notification(cause, bundleID: "com.example.forge", .sandbox, at: Samples.day(day))
        }
        let first = try #require(event(8))
        #expect(first.type == .unknown && first.originalTransactionID == nil)
        #expect(try first.data["cause"]?["notification_type"]?.string == "TEST")
        #expect(try first.data["summary"]?["succeededCount"]?.number?.integer == 5)
        #expect(event(9) == nil)
        cause.notificationUUID = cause.notificationUUID?.lowercased()
        #expect(event(0)?.id == first.id)
        cause.notificationUUID = "1f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01"
        #expect(event(0)?.id != first.id)
    }

    // MARK: Chains and signed data

    @Test func `the old name of a renamed chain makes no event`() throws {
        let renamed = Samples.period(1) { $0.previousOriginalTransactionID = "2000000900000000" }
        let notice = try SignedNotice(Samples.notice("SUBSCRIBED", "INITIAL_BUY", day: 0, renamed, Samples.plan()))
        let old = PurchaseChain(
            bundleID: Samples.chain.bundleID, environment: .sandbox, originalTransactionID: "2000000900000000")
        var chronicle = Chronicle()
        #expect(chronicle.apply([notice.transaction], notice.renewal, to: old, notice.cause, at: Samples.day(0)) == [])
        #expect(chronicle.nextEventTime(of: old) == nil)
        #expect(chronicle.take(notice).types == ["subscription.started"])
    }

    @Test func `signed data is kept only if it is wanted`() throws {
        for keeps in [false, true] {
            var chronicle = Chronicle()
            chronicle.keepsSignedData = keeps
            let notice = try SignedNotice(Samples.subscribed)
            let event = try #require(chronicle.take(notice).first)
            let json = try JSONValue(parsing: event.json(includingSignedData: true))
            let jws = notice.cause.signedTransaction.map { String(decoding: $0, as: UTF8.self) }
            #expect(json["signed_data"]?["signed_transaction"]?.string == (keeps ? jws : nil))
            #expect(event.signedData.isEmpty != keeps)
        }
    }
}

extension Event {
    /// The member `data` of the JSON.
    var data: JSONValue {
        get throws { try #require(try JSONValue(parsing: json)["data"]) }
    }
}

extension Transaction {
    /// Returns a transaction as Apple signs it on a day.
    static func verified(_ contents: TransactionContents, onDay number: Int) throws -> Transaction {
        try SignedNotice(EventSamples.notice("TEST", day: number, contents)).transaction
    }
}
