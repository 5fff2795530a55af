// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Gateway

/// The differences between two sources, and what is none.
@Suite(.timeLimit(.patient)) struct AnswerComparisonTests {
    /// A receipt, and what Apple says about it later.
    struct Story: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let sent: [Period]
        let apples: [Period]
        let change: @Sendable (inout [Transaction]) -> Void
        /// The time of Apple's answer, in seconds after the receipt was made.
        let time: Int64
        let differences: [String]

        init(
            _ name: String, _ sent: [Period], _ apples: [Period], at time: Int64 = 3600, _ differences: [String] = [],
            _ change: @escaping @Sendable (inout [Transaction]) -> Void = { _ in }
        ) {
            (testDescription, self.sent, self.apples, self.time) = (name, sent, apples, time)
            (self.differences, self.change) = (differences, change)
        }
    }

    private static let running = Period("1", -100_000..<1_000_000)
    private static let ended = Period("1", -100_000 ..< -7200)
    private static let other = Period("2", -50_000..<900_000, of: "2")
    private static let recovered = Period("3", -7200..<1_000_000)

    // MARK: - What Apple signed, and Apple's answer later

    static let stories = [
        Story("equal", [running, other], [other, running]),
        Story("renewed since", [running], [running, Period("3", 100..<2_000_000)]),
        Story("a purchase of another subscription since", [running], [running, Period("2", 10..<900_000, of: "2")]),
        Story(
            "refunded before", [running], [running.cancelled],
            ["cancellation_date:absent:present", "state:active:revoked"]),
        Story("refunded since", [running], [running]) { $0[0].cancellationDate = Samples.time(100) },
        Story("refunded at about that time", [running], [running]) { $0[0].cancellationDate = Samples.time(-200) },
        Story("upgraded since, without a date", [running], [running]) { $0[0].isUpgraded = true },
        Story("a refund that was reversed", [running.cancelled], [running]),
        Story("Apple lacks a purchase", [running, other], [running], ["transaction:present:absent"]),
        Story("the receipt lacks a purchase", [running], [running, other], ["transaction:absent:present"]),
        Story("Apple's index is late", [running, Period("2", -200..<900_000, of: "2")], [running], at: 50),
        Story(
            "the receipt was made before Apple's index was ready", [running],
            [running, Period("2", -200..<900, of: "2")]),
        Story("an old period, which the sandbox leaves out", [running, Period("2", -90_000 ..< -80_000)], [running]),
        Story("recovered in the grace period", [ended], [ended, recovered]),
        Story(
            "not recovered, but missing in a receipt of the moment", [ended], [ended, recovered], at: 10,
            ["state:expired:active", "transaction:absent:present"]),
        Story("extended since", [running], [Period("1", -100_000..<2_000_000)]),
        Story("shortened", [running], [Period("1", -100_000..<900_000)], ["expires_date:later:earlier"]),
        Story(
            "extended after its end", [ended], [Period("1", -100_000 ..< -5000)], ["expires_date:earlier:later"]),
        Story("a trial", [running], [running.trial], ["is_trial_period:false:true"]),
        Story("a trial that Apple calls both", [running.trial], [running.trial.introductory]),
        Story(
            "an introductory price", [running], [running.introductory], ["is_in_intro_offer_period:false:true"]),
        Story("another begin", [running], [running], ["purchase_date:earlier:later"]) {
            $0[0].purchaseDate = Samples.time(-99_000)
        },
        Story("milliseconds", [running], [running]) {
            $0[0].purchaseDate = Samples.time(-100_000).advanced(by: .milliseconds(999))
        },
        Story(
            "an item that Apple lacks", [running, Period(item: "9", at: -9000)], [running],
            ["transaction:present:absent"]),
        Story("what only Apple knows", [running], [running]) {
            $0[0].ownership = .purchased
            $0[0].subscriptionGroupID = "1"
            $0[0].appAccountToken = "7e3fb204-2ad4-4cf9-a2e6-2a1ee0ee5ef1"
        },
        Story("renamed", [running], [running]) {
            $0[0].originalTransactionID = "7"
            var fields = SignedTransactionFields()
            fields.previousOriginalTransactionID = "1"
            $0[0].signedFields = .value(fields)
        },
        Story("another chain", [running], [running], ["original_transaction_id:value:other_value"]) {
            $0[0].originalTransactionID = "7"
        },
    ]

    @Test(arguments: stories)
    func `a signed receipt is compared as of its signature`(_ story: Story) async throws {
        let answer = try UpstreamAnswer.sandbox(story.apples, story.change)
        let site = ComparisonSite(
            .localAndApple, Samples.receipt(with: story.sent), at: story.time, verifyReceipt: [.answer(answer)])
        #expect(try await site.kinds() == story.differences)
        #expect(site.upstream.asked.count == 2)
    }

    @Test(arguments: stories)
    func `Apple's answer is compared with the receipt in the same way, and without a request`(
        _ story: Story
    ) async throws {
        let answer = try UpstreamAnswer.sandbox(story.apples, story.change)
        let site = ComparisonSite(
            .localAndApple, Samples.receipt(with: story.sent), at: story.time, verifyReceipt: [.answer(answer)])
        let swapped = story.differences.map { kind in
            let words = kind.split(separator: ":")
            return words[1] == "value" ? kind : "\(words[0]):\(words[2]):\(words[1])"
        }
        #expect(try await site.kinds(.apple)?.sorted() == swapped.sorted())
        #expect(site.upstream.asked.count == 2)
    }

    @Test func `finished consumables and unknown kinds of items are no difference`() async throws {
        let receipt = Samples.receipt(with: [Self.running, Period(item: "9", at: -9000)]) {
            $0.purchases[1].productType = .consumable
        }
        let gone = try UpstreamAnswer.sandbox([Self.running])
        #expect(
            try await ComparisonSite(.localAndApple, receipt, verifyReceipt: [.answer(gone)]).kinds() == [])
        let unknown = try UpstreamAnswer.sandbox([Self.running, Period(item: "9", at: -9000)])
        let plain = Samples.receipt(with: [Self.running])
        #expect(
            try await ComparisonSite(.localAndApple, plain, verifyReceipt: [.answer(unknown)]).kinds() == [])
    }

    @Test func `an account that Apple no longer has is a difference`() async throws {
        let site = ComparisonSite(
            .localAndApple, Samples.receipt(with: [Self.running]), verifyReceipt: [.refusal(.accountNotFound)])
        #expect(try await site.kinds() == ["verdict:genuine:account_not_found"])
    }

    @Test func `a receipt that Apple rejects for ever is a difference, and a fault of Apple's is none`() async throws {
        let receipt = Samples.receipt(with: [Self.running])
        let broken = ComparisonSite(.localAndApple, receipt, verifyReceipt: [.refusal(.brokenRecord)])
        #expect(try await broken.kinds() == ["verdict:genuine:upstream_record_broken"])
        let failing = ComparisonSite(.localAndApple, receipt, verifyReceipt: [.failure(.requestRefused)])
        #expect(try await failing.kinds() == nil)
        #expect(failing.store.tallies(at: failing.now)[.localAndApple]?.unanswered == 1)
        #expect(failing.events.all.map(\.line) == ["local_apple unanswered"])
    }

    // MARK: - verifyReceipt and the Server API

    /// Returns the kinds of difference between both interfaces.
    /// - Parameter answers: the interface that answered the client.
    private func kinds(
        _ verifyReceipt: UpstreamAnswer, _ serverAPI: UpstreamResult?, answers: ReceiptUpstream = .verifyReceipt
    ) async throws -> [String]? {
        let site = ComparisonSite(
            .verifyReceiptAndServerAPI, Samples.receipt(with: [Self.running]), verifyReceipt: [.answer(verifyReceipt)],
            serverAPI: serverAPI, answers: answers)
        return try await site.kinds(.apple, .verifyReceiptAndServerAPI)
    }

    private static func plan(_ change: (inout Renewal) -> Void = { _ in }) -> Renewal {
        var plan = Renewal(originalTransactionID: "1")
        (plan.productID, plan.willRenew, plan.isInBillingRetry) = ("monthly", true, false)
        change(&plan)
        return plan
    }

    @Test func `both interfaces are compared at one moment, with their plans`() async throws {
        let answer = try UpstreamAnswer.sandbox([Self.running], renewals: [Self.plan()])
        #expect(try await kinds(answer, .answered(answer)) == [])
        let cancelled = try UpstreamAnswer.sandbox([Self.running], renewals: [Self.plan { $0.willRenew = false }])
        #expect(try await kinds(answer, .answered(cancelled)) == ["will_renew:true:false"])
        #expect(try await kinds(answer, .answered(cancelled), answers: .serverAPI) == ["will_renew:false:true"])
        let withoutPlan = try UpstreamAnswer.sandbox([Self.running])
        #expect(try await kinds(answer, .answered(withoutPlan)) == [])
    }

    @Test func `billing retry and grace periods change states`() async throws {
        let retry = Self.plan { ($0.isInBillingRetry, $0.expirationIntent) = (true, .billingError) }
        let grace = Self.plan {
            ($0.isInBillingRetry, $0.expirationIntent) = (true, .billingError)
            $0.gracePeriodExpiresDate = Samples.time(100_000)
        }
        let (one, other) = (
            try UpstreamAnswer.sandbox([Self.ended], renewals: [retry]),
            try UpstreamAnswer.sandbox([Self.ended], renewals: [grace])
        )
        #expect(try await kinds(one, .answered(other)) == ["state:in_billing_retry:in_grace_period"])
    }

    @Test func `a purchase that one interface lacks is a difference in its direction`() async throws {
        let both = try UpstreamAnswer.sandbox([Self.running, Self.other])
        let one = try UpstreamAnswer.sandbox([Self.running])
        #expect(try await kinds(both, .answered(one)) == ["transaction:present:absent"])
        #expect(try await kinds(one, .answered(both)) == ["transaction:absent:present"])
        #expect(try await kinds(both, .answered(one), answers: .serverAPI) == ["transaction:absent:present"])
    }

    @Test func `an extension is a difference at one moment`() async throws {
        let answer = try UpstreamAnswer.sandbox([Self.running])
        let extended = try UpstreamAnswer.sandbox([Period("1", -100_000..<2_000_000)])
        #expect(try await kinds(answer, .answered(extended)) == ["expires_date:earlier:later"])
    }

    @Test func `the first purchase may be dated minutes apart, and an example says how far dates are apart`()
        async throws
    {
        func answer(_ seconds: Int64) throws -> UpstreamAnswer {
            try UpstreamAnswer.sandbox([Self.running]) { $0[0].originalPurchaseDate = Samples.time(seconds) }
        }
        #expect(try await kinds(answer(-100_000), .answered(answer(-96_400))) == [])
        let site = ComparisonSite(
            .verifyReceiptAndServerAPI, Samples.receipt(with: [Self.running]),
            verifyReceipt: [.answer(try answer(-100_000))], serverAPI: .answered(try answer(-96_399)))
        #expect(
            try await site.kinds(.apple, .verifyReceiptAndServerAPI) == ["original_purchase_date:earlier:later"])
        let found = site.store.tallies(at: site.now)[.verifyReceiptAndServerAPI]?.kindsByCount.first?.found
        var expected = ComparisonExample(
            hour: Timestamp(millisecondsSince1970: site.now.millisecondsSince1970 / 3_600_000 * 3_600_000),
            evidence: .appReceipt)
        (expected.bundleID, expected.productID, expected.environment) = (Samples.app, "monthly", .sandbox)
        (expected.age, expected.seconds) = (0, 3601)
        #expect(found == ComparisonTally.Kind(count: 1, examples: [expected]))
    }

    @Test func `an account token is never in an example`() async throws {
        func answer(_ token: String) throws -> UpstreamAnswer {
            try UpstreamAnswer.sandbox([Self.running]) { $0[0].appAccountToken = token }
        }
        let site = ComparisonSite(
            .verifyReceiptAndServerAPI, Samples.receipt(with: [Self.running]),
            verifyReceipt: [.answer(try answer("token-of-a-customer"))],
            serverAPI: .answered(try answer("token-of-another")))
        #expect(
            try await site.kinds(.apple, .verifyReceiptAndServerAPI) == ["app_account_token:value:other_value"])
        #expect(!"\(site.store.tallies(at: site.now))".contains("token-of"))
    }

    @Test func `a purchase that the Server API does not know is a difference once its index must have it`() async throws
    {
        let answer = try UpstreamAnswer.sandbox([Self.running])
        #expect(try await kinds(answer, nil) == ["verdict:genuine:transaction_unknown"])
        let new = Period("1", 3500..<1_000_000)
        let site = ComparisonSite(
            .verifyReceiptAndServerAPI, Samples.receipt(with: [new]),
            verifyReceipt: [.answer(try UpstreamAnswer.sandbox([new]))])
        #expect(try await site.kinds(.apple, .verifyReceiptAndServerAPI) == nil)
        #expect(site.events.all.map(\.line) == ["verify_receipt_server_api unanswered"])
    }
}
