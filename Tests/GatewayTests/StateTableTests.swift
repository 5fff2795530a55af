// SPDX-License-Identifier: Apache-2.0

import Foundation
@testable import Gateway
import Receipts
import Testing
import TestSupport

/// The rows of docs/states.md: each is a history, a moment, and the state that follows.
struct StateTableTests {
    /// The known facts about one subscription. Times are days.
    struct History: Sendable {
        var transactions: [Transaction] = []
        var plan: Renewal?
        var licenceEnd: Double?

        /// Adds a period of a product; the one of the first is `month`.
        func period(
            _ days: ClosedRange<Double>, _ product: String = "month", signed: Double? = nil,
            with change: (inout Transaction) -> Void = { _ in }
        ) -> History {
            var transaction = Transaction(productID: product, transactionID: "\(transactions.count + 1)")
            transaction.originalTransactionID = "1"
            transaction.purchaseDate = StateTableTests.day(days.lowerBound)
            transaction.expiresDate = StateTableTests.day(days.upperBound)
            var fields = SignedTransactionFields()
            fields.signedDate = StateTableTests.day(signed ?? days.lowerBound)
            transaction.signedFields = .value(fields)
            change(&transaction)
            var history = self
            history.transactions.append(transaction)
            return history
        }

        func planned(signed: Double, _ change: (inout Renewal) -> Void) -> History {
            var plan = Renewal(originalTransactionID: "1"), fields = SignedRenewalFields()
            fields.signedDate = StateTableTests.day(signed)
            plan.signedFields = .value(fields)
            change(&plan)
            var history = self
            history.plan = plan
            return history
        }

        func licensed(until day: Double) -> History {
            var history = self
            history.licenceEnd = day
            return history
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let day: Double
        let state: SubscriptionState
        let accessUntil: Double?
        let history: History

        init(
            _ description: String, _ day: Double, _ state: SubscriptionState, _ accessUntil: Double?, _ history: History
        ) {
            (testDescription, self.day, self.state) = (description, day, state)
            (self.accessUntil, self.history) = (accessUntil, history)
        }

        /// The row as docs/states.md has it.
        var markdown: String {
            func text(_ day: Double) -> String {
                day == day.rounded() ? String(Int(day)) : String((day * 1000).rounded() / 1000)
            }
            return "| \(testDescription) | \(text(day)) | `\(state.rawValue)` | \(accessUntil.map(text) ?? "–") |"
        }
    }

    static func day(_ day: Double) -> Timestamp {
        Timestamp(millisecondsSince1970: 1_700_000_000_000 + Int64(day * 86_400_000))
    }

    private static let month = History().period(0...30)
    private static let hour = 1.0 / 24
    private static func refunded(on day: Double) -> (inout Transaction) -> Void {
        {
            ($0.cancellationDate, $0.ownership) = (StateTableTests.day(day), .purchased)
            var fields = SignedTransactionFields()
            fields.signedDate = StateTableTests.day(day)
            $0.signedFields = .value(fields)
        }
    }
    private static func cancelled(on day: Double) -> (inout Transaction) -> Void {
        { $0.cancellationDate = StateTableTests.day(day) }
    }
    private static func copy(_ change: @escaping (inout Transaction) -> Void = { _ in }) -> (inout Transaction) -> Void
    {
        {
            change(&$0)
            $0.webOrderLineItemID = "77"
        }
    }
    private static let renews: @Sendable (inout Renewal) -> Void = { $0.willRenew = true }

    static let rows =
        paid + ended + reported + [
            Row("The month ended.", 31, .expired, 30, month),
            Row(
                "The month ended, and Apple grants grace until day 46.", 31, .inGracePeriod, 46,
                month.planned(signed: 30) { $0.gracePeriodExpiresDate = day(46) }),
            Row(
                "The grace period ended too.", 46, .expired, 46,
                month.planned(signed: 30) { $0.gracePeriodExpiresDate = day(46) }),
            Row(
                "Apple retries the payment.", 31, .inBillingRetry, 30,
                month.planned(signed: 30) { $0.isInBillingRetry = true }),
            Row(
                "Apple retries the payment, and grants grace until day 46.", 31, .inGracePeriod, 46,
                month.planned(signed: 30) {
                    ($0.isInBillingRetry, $0.gracePeriodExpiresDate) = (true, day(46))
                }),
            Row(
                "The plan was signed before the month, and is about an earlier end.", 31, .expired, 30,
                month.planned(signed: -1) {
                    ($0.isInBillingRetry, $0.gracePeriodExpiresDate) = (true, day(46))
                }),
            Row(
                "A plan signed after the end says that the subscription renews: the renewal is late.", 30.02, .active,
                30 + hour, month.planned(signed: 30.01, renews)),
            Row("The renewal is an hour late.", 30 + hour, .expired, 30, month.planned(signed: 30.01, renews)),
            Row(
                "A plan signed before the end says that it renews.", 30.02, .expired, 30,
                month.planned(signed: 29, renews)),
            Row(
                "A plan signed after the end names a reason for the end.", 30.02, .expired, 30,
                month.planned(signed: 30.01) { ($0.willRenew, $0.expirationIntent) = (true, .billingError) }),
            Row(
                "The period has no expiry date.", 10, .expired, 0,
                History().period(0...30) { ($0.expiresDate, $0.productType) = (nil, .autoRenewableSubscription) }),
            Row("The app's volume licence ended on day 5.", 10, .expired, 5, month.licensed(until: 5)),
        ]

    private static let paid = [
        Row("A month, day 0 to 30.", 10, .active, 30, month),
        Row("The next month, signed a day ahead.", 29.5, .active, 30, month.period(30...60, signed: 29)),
        Row(
            "The next month begins some minutes after the end.", 30.005, .active, 60,
            month.period(30.01...60, signed: 29)),
        Row("A month that begins in two days.", -2, .active, 30, month),
        Row("A month that begins in more than two days.", -2.5, .expired, nil, month),
        Row(
            "A cheaper product from day 30, signed on day 20.", 25, .active, 30,
            month.period(30...60, "week", signed: 20)),
        Row("A better product since day 10, signed then.", 15, .active, 40, month.period(10...40, "year")),
        Row(
            "The same, and Apple marked the month as upgraded.", 15, .active, 40,
            History().period(0...30, signed: 11) { $0.isUpgraded = true }.period(10...40, "year")),
    ]

    private static let ended = [
        Row("The month was refunded on day 5.", 10, .revoked, nil, History().period(0...30, with: refunded(on: 5))),
        Row(
            "The month was refunded after its end.", 40, .revoked, nil, History().period(0...30, with: refunded(on: 35))
        ),
        Row(
            "The month was refunded, and the plan grants grace.", 31, .revoked, nil,
            History().period(0...30, with: refunded(on: 29)).planned(signed: 30) { $0.gracePeriodExpiresDate = day(46) }
        ),
        Row(
            "A refunded year, bought on day 10; the month is in grace.", 31, .inGracePeriod, 46,
            History().period(0...30, signed: 11).period(10...375, "year", with: refunded(on: 12))
                .planned(signed: 30) { $0.gracePeriodExpiresDate = day(46) }),
        Row(
            "The month was upgraded, and the new period is unknown.", 10, .upgraded, nil,
            History().period(0...30, signed: 6) { $0.isUpgraded = true }),
        Row(
            "The month was cancelled when a year began, which was refunded.", 10, .revoked, nil,
            History().period(0...30, with: cancelled(on: 5)).period(5...370, "year", with: refunded(on: 8))),
        Row(
            "A copy of the month was refunded on day 5.", 10, .revoked, nil,
            History().period(0...30, with: copy()).period(0...30, with: copy(refunded(on: 5)))),
        Row(
            "The same, but a copy signed on day 7 is not refunded.", 10, .active, 30,
            History().period(0...30, signed: 7, with: copy()).period(0...30, with: copy(refunded(on: 5)))),
    ]

    /// Apple's `status`, and the time at which it held.
    private static func status(_ state: SubscriptionState, _ day: Double) -> @Sendable (inout Renewal) -> Void {
        { $0.status = ReportedStatus(state, at: StateTableTests.day(day)) }
    }
    private static let reported = [
        Row(
            "The status of day 20 is expired.", 25, .expired, 20,
            month.planned(signed: 20, status(.expired, 20))),
        Row("The status of day 20 is revoked.", 25, .revoked, nil, month.planned(signed: 20, status(.revoked, 20))),
        Row(
            "The status of day 29 is billing retry: the month is paid for.", 29.5, .active, 30,
            month.planned(signed: 29, status(.inBillingRetry, 29))),
        Row(
            "The status from before the month is expired.", 10, .active, 30,
            month.planned(signed: -1, status(.expired, -1))),
        Row(
            "A copy of the month was signed after the status, which is revoked.", 25, .active, 30,
            History().period(0...30, signed: 21).planned(signed: 20, status(.revoked, 20))),
        Row(
            "The month ended, and its status is billing retry.", 31, .inBillingRetry, 30,
            month.planned(signed: 30, status(.inBillingRetry, 30))),
        Row(
            "The month ended, its status is expired, and the plan grants grace.", 31, .expired, 30,
            month.planned(signed: 30) {
                $0.gracePeriodExpiresDate = day(46)
                status(.expired, 30)(&$0)
            }),
        Row(
            "The same, but the plan was signed after the status.", 31, .inGracePeriod, 46,
            month.planned(signed: 30.5) {
                $0.gracePeriodExpiresDate = day(46)
                status(.expired, 30)(&$0)
            }),
        Row(
            "The status after the end is active.", 30.02, .active, 30.01 + hour,
            month.planned(signed: 30.01, status(.active, 30.01))),
        Row(
            "That status is an hour old.", 30.01 + hour, .expired, 30.01 + hour,
            month.planned(signed: 30.01, status(.active, 30.01))),
        Row(
            "The last status before the end is active.", 30.01, .expired, 30,
            month.planned(signed: 29.99, status(.active, 29.99))),
        Row(
            "The status after the end is grace period, without its end.", 30.02, .inGracePeriod, 30.01 + hour,
            month.planned(signed: 30.01, status(.inGracePeriod, 30.01))),
        Row(
            "The same, and a plan signed later is in billing retry.", 30.02, .inGracePeriod, 30.01 + hour,
            month.planned(signed: 30.015) {
                $0.isInBillingRetry = true
                status(.inGracePeriod, 30.01)(&$0)
            }),
        Row(
            "The same, and a plan signed later says that grace has ended.", 30.02, .inBillingRetry, 30.015,
            month.planned(signed: 30.016) {
                ($0.isInBillingRetry, $0.gracePeriodExpiresDate) = (true, day(30.015))
                status(.inGracePeriod, 30.01)(&$0)
            }),
        Row(
            "The status after the end is active, and a plan signed later renews.", 30.02, .active, 30.01 + hour,
            month.planned(signed: 30.015) {
                $0.willRenew = true
                status(.active, 30.01)(&$0)
            }),
        Row(
            "The status after the end is active, and a plan signed later is in billing retry.", 30.02, .inBillingRetry,
            30,
            month.planned(signed: 30.015) {
                ($0.willRenew, $0.isInBillingRetry) = (true, true)
                status(.active, 30.01)(&$0)
            }),
        Row(
            "The status grants grace 28 days after the end.", 58, .expired, 58,
            month.planned(signed: 57.99, status(.inGracePeriod, 57.99))),
        Row(
            "The month was refunded, and the status is active.", 31, .revoked, nil,
            History().period(0...30, with: refunded(on: 29)).planned(signed: 30.99, status(.active, 30.99))),
    ]

    @Test(arguments: rows) func `a state follows from the rules of docs-states`(_ row: Row) throws {
        // All have a time of their own, so the time of Apple's answer makes no difference.
        for knownAt in [nil, row.day] {
            let rules = SubscriptionRules(
                knownAt: knownAt.map(Self.day), licenceEnd: row.history.licenceEnd.map(Self.day))
            for transactions in [row.history.transactions, row.history.transactions.reversed()] {
                let all = Entitlements(
                    in: TransactionList(transactions), renewals: [row.history.plan].compactMap(\.self),
                    at: Self.day(row.day), rules: rules
                ).subscriptions
                #expect(all.map(\.state) == [row.state])
                #expect(all.first?.accessUntil == row.accessUntil.map(Self.day))
            }
        }
    }

    @Test func `the document has these rows`() throws {
        let path = repositoryRoot.appending(path: "docs/states.md")
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| known | day | state |") })
        #expect(Set(lines[(start + 2)...].prefix { $0.hasPrefix("|") }) == Set(Self.rows.map(\.markdown)))
    }
}
