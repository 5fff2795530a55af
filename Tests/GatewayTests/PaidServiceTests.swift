// SPDX-License-Identifier: Apache-2.0

@testable import Gateway
import Receipts
import Testing

/// The days of paid service in a subscription group.
struct PaidServiceTests {
    private static let start = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    private static func day(_ day: Int64) -> Timestamp { start.advanced(by: .seconds(day * 86_400)) }

    /// Returns a period over these days.
    private static func period(
        _ days: Range<Int64>, of chain: String = "1", _ edit: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var period = Transaction(productID: "monthly", transactionID: "\(chain)-\(days.lowerBound)")
        period.originalTransactionID = chain
        (period.purchaseDate, period.expiresDate) = (day(days.lowerBound), day(days.upperBound))
        edit(&period)
        return period
    }

    private static func days(_ transactions: [Transaction], at now: Timestamp) -> [Int64] {
        Entitlements(in: TransactionList(transactions), at: now, rules: SubscriptionRules()).subscriptions.map(
            \.paidServiceDays)
    }

    @Test(
        arguments: [
            (-1, [0]), (0, [0]), (10, [10]), (29, [29]), (45, [30]), (80, [50]), (100, [60]), (150, [60]), (151, [0]),
        ] as [(Int64, [Int64])])
    func `paid days count up to now, over gaps of 60 days`(day: Int64, expected: [Int64]) {
        let periods = [Self.period(0..<30), Self.period(60..<90)]
        #expect(Self.days(periods, at: Self.day(day)) == expected, "day \(day)")
    }

    @Test func `a longer gap starts the count again`() {
        let now = Self.day(200)
        #expect(Self.days([Self.period(0..<30), Self.period(90..<120), Self.period(180..<210)], at: now) == [80])
        #expect(Self.days([Self.period(0..<30), Self.period(91..<121), Self.period(180..<210)], at: now) == [50])
    }

    @Test func `trials, shared and refunded periods are not paid, and a replaced one ends at its successor`() {
        let now = Self.day(40)
        #expect(Self.days([Self.period(0..<30) { $0.isTrialPeriod = true }, Self.period(30..<60)], at: now) == [10])
        #expect(Self.days([Self.period(0..<60) { $0.ownership = .familyShared }], at: now) == [0])
        #expect(Self.days([Self.period(0..<60) { $0.cancellationDate = Self.day(20) }], at: now) == [0])
        let replaced = Self.period(0..<365) { ($0.isUpgraded, $0.cancellationDate) = (true, Self.day(20)) }
        #expect(Self.days([replaced, Self.period(20..<50) { $0.productID = "gold" }], at: now) == [40])
    }

    @Test func `the subscriptions of a group count together, and no day twice`() {
        let periods = [
            Self.period(0..<30, of: "1") { $0.subscriptionGroupID = "A" },
            Self.period(20..<50, of: "2") { $0.subscriptionGroupID = "A" },
            Self.period(0..<5, of: "3") { $0.subscriptionGroupID = "B" }, Self.period(0..<7, of: "4"),
        ]
        #expect(Self.days(periods, at: Self.day(40)).sorted() == [5, 7, 40, 40])
    }

    @Test func `each customer's days count alone`() {
        let periods = [0, 1].map { number in
            Self.period(number * 20..<30, of: "\(number)") { period in
                var fields = SignedTransactionFields()
                fields.appTransactionID = "70\(number)"
                (period.subscriptionGroupID, period.signedFields) = ("A", .value(fields))
            }
        }
        #expect(Self.days(periods, at: Self.day(40)).sorted() == [10, 30])
    }

    @Test func `dates at the ends of the range are counted without an overflow`() {
        var period = Self.period(0..<1)
        (period.purchaseDate, period.expiresDate) = (.earliest, .latest)
        #expect(Self.days([period, Self.period(0..<1), Self.period(2..<3)], at: .latest).first ?? 0 > 700_000)
    }
}
