// SPDX-License-Identifier: Apache-2.0

import Cryptography
import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// Receipts that the App Store Server API answers for, because `verifyReceipt` ends or fails.
struct AfterVerifyReceiptTests {
    private static let receipt = Samples.receipt(with: [
        Period("1", 0..<100).with(\.product, "com.example.forge.monthly")
    ])

    private static func request(_ mode: Mode = .auto, _ receipt: [UInt8] = receipt) -> VerificationRequest {
        VerificationRequest(evidence: .appReceipt(receipt), mode: mode)
    }

    private static func fixture(
        _ script: [String: [UpstreamResult]] = ["1": [.answered(.customer("1"))]],
        verifyReceipt: [UpstreamReply] = [.failure(.serverError)], sandbox: [UpstreamReply] = [],
        sunsetIn days: Double? = nil,
        _ permitted: ReceiptUpstream = .both, apps: Set<String> = [SignedSamples.app]
    ) -> CustomerFixture {
        let sunset = days.map { Samples.time(150).advanced(by: .seconds(86_400 * $0)) }
        return CustomerFixture(
            script, apps: apps, verifyReceipt: ScriptedUpstream([.production: verifyReceipt, .sandbox: sandbox]),
            verifier: Samples.verifier, lifecycle: UpstreamLifecycle(configured: LifecycleDates(sunset: sunset)),
            receiptUpstream: permitted)
    }

    // MARK: - The other interface

    @Test(arguments: [UpstreamFailure.serverError, .unreachable, .unusableAnswer, .requestRefused, .tls, .timeout])
    func `the Server API answers if verifyReceipt fails`(failure: UpstreamFailure) async throws {
        for mode in [Mode.auto, .apple, .appleFirst] {
            let fixture = Self.fixture(verifyReceipt: [.failure(failure)])
            let answer = try await fixture.ask(Self.request(mode), at: Samples.time(150))
            #expect(answer.verdict == .genuine && answer.provenance.source == .serverAPI)
            #expect(!answer.provenance.isDegraded && answer.transactions.map(\.transactionID) == ["1", "12", "13"])
            #expect(!fixture.events.lines.contains { $0.hasPrefix("degraded") })
        }
    }

    @Test func `verifyReceipt answers if the Server API fails after the move`() async throws {
        let fixture = Self.fixture(
            ["1": [.unanswered(.upstreamBudget)]], verifyReceipt: [.otherEnvironment],
            sandbox: [.answer(.customer("1"))],
            sunsetIn: 1)
        _ = try await fixture.ask(Self.request(), at: Samples.time(149))
        let answer = try await fixture.ask(Self.request(), at: Samples.time(150))
        #expect(fixture.customers.asked == ["1"] && answer.provenance.source == .apple)
    }

    @Test func `without an answer of either the reasons of both are named`() async throws {
        let fixture = Self.fixture(["1": [.unanswered(.upstreamBudget)]])
        let answer = try await fixture.ask(Self.request(), at: Samples.time(150))
        #expect(answer.verdict == .genuine && answer.provenance.source == .local)
        #expect(answer.provenance.degradedReasons == [.upstreamServerError, .upstreamBudget])
        let undecided = try await fixture.ask(Self.request(.apple), at: Samples.time(150))
        #expect(undecided.verdict == .undecided(.upstreamDidNotAnswer))
    }

    @Test func `the newest stale answer of either is preferred to the receipt`() async throws {
        let fixture = Self.fixture(["1": [.answered(.customer("1")), .unanswered(.upstreamBudget)]])
        _ = try await fixture.ask(Self.request(), at: Samples.time(150))
        let stale = try await fixture.ask(Self.request(), at: Samples.time(1000))
        #expect(stale.provenance.source == .serverAPI && stale.provenance.cache == .stale)
        #expect(stale.provenance.degradedReasons == [.upstreamServerError, .upstreamBudget])
    }

    @Test func `a client with a wrong secret learns it`() async throws {
        let fixture = Self.fixture(verifyReceipt: [.refusal(.secretRejected)])
        let answer = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(150)) {
            $0.options.sentSecret = Secret("wrong")
        }
        #expect(answer.provenance.degradedReasons == [.sharedSecretRejected] && fixture.customers.asked.isEmpty)
        let configured = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(151))
        #expect(configured.provenance.source == .serverAPI)
    }

    // MARK: - The end

    @Test(arguments: [Mode.auto, .apple, .appleFirst])
    func `after the move verifyReceipt gets one receipt in ten minutes`(mode: Mode) async throws {
        let fixture = Self.fixture(sunsetIn: -1)
        for seconds in [150, 151, 160, 749] as [Int64] {
            let answer = try await fixture.ask(Self.request(mode), at: Samples.time(seconds))
            #expect(answer.provenance.source == .serverAPI && !answer.provenance.isDegraded)
        }
        // A retry belongs to it.
        #expect((1...2).contains(fixture.upstream.asked.count))
    }

    @Test func `a receipt that is not sent to Apple does not take its place`() async throws {
        let fixture = Self.fixture(sunsetIn: -1)
        _ = try await fixture.ask(Self.request(.local), at: Samples.time(150))
        #expect(fixture.upstream.asked.isEmpty)
        _ = try await fixture.ask(Self.request(), at: Samples.time(151))
        #expect(!fixture.upstream.asked.isEmpty)
    }

    @Test func `the operator can end it for good`() async throws {
        let fixture = Self.fixture(sunsetIn: -1, .serverAPI)
        _ = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(150))
        #expect(fixture.upstream.asked.isEmpty && fixture.customers.asked == ["1"])
    }

    @Test func `without a key the receipt answers for itself after the end`() async throws {
        let fixture = Self.fixture(sunsetIn: -1, apps: [])
        let answer = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(150))
        #expect(answer.provenance.source == .local && answer.provenance.isDegraded)
        #expect(answer.transactions.map(\.transactionID) == ["1"])
    }

    @Test func `a receipt without purchases answers for itself`() async throws {
        let fixture = Self.fixture(sunsetIn: -1, .serverAPI)
        for mode in [Mode.auto, .appleFirst] {
            let answer = try await fixture.ask(Self.request(mode, Samples.receipt(with: [])), at: Samples.time(150))
            #expect(answer.verdict == .genuine && answer.provenance.source == .local && !answer.provenance.isDegraded)
        }
        #expect(fixture.customers.asked.isEmpty && fixture.upstream.asked.isEmpty)
    }

    @Test func `after the end a receipt without purchases is not sent to verifyReceipt`() async throws {
        let fixture = Self.fixture(sunsetIn: -1)
        // The check.
        _ = try await fixture.ask(Self.request(), at: Samples.time(150))
        let asked = fixture.upstream.asked.count
        let answer = try await fixture.ask(
            Self.request(.appleFirst, Samples.receipt(with: [])), at: Samples.time(151))
        #expect(answer.verdict == .genuine && answer.provenance.source == .local && !answer.provenance.isDegraded)
        #expect(fixture.upstream.asked.count == asked)
    }

    // MARK: - Several customers in one receipt

    private static let twoCustomers = Samples.receipt(
        with: [Period("1", 0..<100), Period("5", 10..<100, of: "5")].map {
            $0.with(\.product, "com.example.forge.monthly")
        })

    @Test func `the chains of another customer are looked up, too`() async throws {
        let fixture = Self.fixture(
            ["1": [.answered(.customer("1"))], "5": [.answered(.customer("5"))]], .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        #expect(fixture.customers.asked == ["5", "1"])
        #expect(Set(answer.transactions.map(\.transactionID)) == ["1", "12", "13", "5", "52", "53"])
        #expect(answer.subscriptions.count == 2 && !answer.provenance.isDegraded)
        // Each customer's answer is kept apart.
        let one = try await fixture.ask(Self.request(), at: Samples.time(151))
        #expect(one.provenance.cache == .shared && one.transactions.map(\.transactionID) == ["1", "12", "13"])
        #expect(fixture.customers.asked.count == 2)
    }

    @Test func `a history that has all chains is the only one`() async throws {
        var both = UpstreamAnswer.customer("1")
        both.transactions += UpstreamAnswer.customer("5").transactions
        let fixture = Self.fixture(["5": [.answered(both)]], .serverAPI)
        _ = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        #expect(fixture.customers.asked == ["5"])
    }

    @Test(arguments: [UpstreamResult.unknownTransaction(.notFound), .unanswered(.upstreamTimeout)])
    func `what Apple does not answer about is taken from the receipt, but in mode apple`(
        result: UpstreamResult
    ) async throws {
        let fixture = Self.fixture(["5": [.answered(.customer("5"))], "1": [result]], .serverAPI)
        for (mode, ids) in [(Mode.auto, ["1", "5", "52", "53"]), (.apple, ["5", "52", "53"])] {
            let answer = try await fixture.ask(Self.request(mode, Self.twoCustomers), at: Samples.time(900))
            #expect(Set(answer.transactions.map(\.transactionID)) == Set(ids))
            #expect(answer.provenance.source == .serverAPI && answer.provenance.degradedReasons.count == 1)
            #expect(answer.freshUntil <= Samples.time(900))
        }
    }

    @Test func `an earlier answer about a customer is preferred to the receipt`() async throws {
        var refunded = UpstreamAnswer.customer("1")
        for index in refunded.transactions.indices { refunded.transactions[index].cancellationDate = Samples.time(5) }
        let fixture = Self.fixture(
            ["5": [.answered(.customer("5")), .unanswered(.upstreamTimeout)], "1": [.answered(refunded)]], .serverAPI)
        func states(at seconds: Int64) async throws -> [SubscriptionState] {
            let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(seconds)) {
                $0.options.maximumAge = .zero
            }
            return answer.subscriptions.sorted { $0.originalTransactionID < $1.originalTransactionID }.map(\.state)
        }
        let known = try await states(at: 50)
        #expect(known[0] == .revoked)
        // There is no second request after the first failed: it would fail, too.
        let asked = fixture.customers.asked.count
        #expect(try await states(at: 60) == known && fixture.customers.asked.count == asked + 1)
    }

    @Test func `a deleted account gives and takes nothing from another one`() async throws {
        for (deleted, other) in [("1", "5"), ("5", "1")] {
            let fixture = Self.fixture(
                [deleted: [.accountNotFound], other: [.answered(.customer(other))]], .serverAPI)
            let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
            #expect(answer.verdict == .genuine && !answer.provenance.isDegraded)
            #expect(answer.subscriptions.map(\.originalTransactionID) == [other])
        }
        let fixture = Self.fixture(["1": [.accountNotFound], "5": [.accountNotFound]], .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        #expect(answer.verdict == .rejected(.accountNotFound))
    }

    @Test(arguments: [UpstreamResult.unanswered(.upstreamTimeout), .unknownTransaction(.notFound)])
    func `a deleted account does not reject a customer without an answer`(result: UpstreamResult) async throws {
        for (deleted, other) in [("1", "5"), ("5", "1")] {
            let fixture = Self.fixture([deleted: [.accountNotFound], other: [result]], .serverAPI)
            let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(900))
            #expect(answer.verdict == .genuine && answer.provenance.isDegraded)
            let undecided = try await fixture.ask(Self.request(.apple, Self.twoCustomers), at: Samples.time(900))
            #expect(undecided.verdict == .undecided(.upstreamDidNotAnswer))
        }
    }

    @Test func `deleted accounts count as lookups`() async throws {
        let ids = (1...9).map { "\($0)" }
        let receipt = Samples.receipt(with: ids.map { Period($0, 0..<100, of: $0) })
        let script = ids.map { ($0, [UpstreamResult.accountNotFound]) }
        let fixture = Self.fixture(Dictionary(uniqueKeysWithValues: script), .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, receipt), at: Samples.time(900))
        #expect(fixture.customers.asked.count == 4 && answer.verdict == .genuine)
        #expect(answer.provenance.degradedReasons == [.customerLimit])
    }

    @Test func `a failed lookup is named although another ID of its customer has an answer`() async throws {
        // The chains 7 and 1 are of one customer, and 5 of another.
        var customer = UpstreamAnswer.customer("1")
        customer.transactions += UpstreamAnswer.customer("7").transactions
        let receipt = Samples.receipt(
            with: ["7", "5", "1"].enumerated().map { Period($1, Int64(9 - $0)..<100, of: $1) })
        let fixture = Self.fixture(["1": [.answered(customer)], "7": [.unanswered(.upstreamTimeout)]], .serverAPI)
        _ = try await fixture.ask(Self.request(), at: Samples.time(150))
        let answer = try await fixture.ask(Self.request(.auto, receipt), at: Samples.time(151))
        #expect(fixture.customers.asked == ["1", "7"])
        #expect(answer.provenance.degradedReasons == [.upstreamTimeout])
        #expect(Set(answer.transactions.map(\.chainID)) == ["1", "5", "7"])
    }

    @Test func `a new answer about one customer is used although it took long`() async throws {
        let fixture = Self.fixture(
            ["5": [.answered(.customer("5"))], "1": [.unanswered(.upstreamTimeout)]], .serverAPI)
        // The request began two seconds before the answer.
        let answer = try await fixture.ask(Self.request(.apple, Self.twoCustomers), at: Samples.time(900)) { _ in
            fixture.advance(to: Samples.time(902))
        }
        #expect(answer.verdict == .genuine && answer.transactions.map(\.chainID) == ["5", "5", "5"])
    }

    @Test func `a purge of one customer keeps the answers about another`() async throws {
        let fixture = Self.fixture(
            ["5": [.answered(.customer("5"))], "1": [.answered(.customer("1"))]], .serverAPI)
        _ = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        try await fixture.invalidation.purge(transactionID: "5")
        _ = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(151))
        #expect(fixture.customers.asked == ["5", "1", "5"])
    }

    @Test func `an answer about all customers is preferred to a newer one about some`() async throws {
        var refunded = UpstreamAnswer.customer("1")
        for index in refunded.transactions.indices { refunded.transactions[index].cancellationDate = Samples.time(5) }
        refunded.transactions += UpstreamAnswer.customer("5").transactions
        let fixture = Self.fixture(
            ["5": [.answered(.customer("5"))], "1": [.unanswered(.upstreamTimeout)]],
            verifyReceipt: [.otherEnvironment, .failure(.serverError)], sandbox: [.answer(refunded)])
        let first = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        let second = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(1200))
        #expect(first.provenance.source == .apple && second.provenance.source == .apple)
        #expect(second.provenance.degradedReasons == [.upstreamServerError, .upstreamTimeout])
    }

    @Test func `a chain that Apple does not know costs a call in five minutes`() async throws {
        let fixture = Self.fixture(["5": [.answered(.customer("5"))]], .serverAPI)
        for seconds in [900, 910, 1199, 1200] as [Int64] {
            _ = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(seconds))
        }
        #expect(fixture.customers.asked.count { $0 == "1" } == 2)
    }

    @Test func `a purchase that Apple's index lacks does not hide the others`() async throws {
        let fixture = Self.fixture(["1": [.answered(.customer("1"))]], .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, Self.twoCustomers), at: Samples.time(150))
        #expect(fixture.customers.asked == ["5", "1"])
        #expect(Set(answer.transactions.map(\.transactionID)) == ["1", "12", "13", "5"])
        // It is some minutes old.
        #expect(!answer.provenance.isDegraded)
    }

    @Test func `the number of lookups for one answer is limited`() async throws {
        let ids = (1...9).map { "\($0)" }
        let receipt = Samples.receipt(with: ids.map { Period($0, 0..<100, of: $0) })
        let known = ids.map { ($0, [UpstreamResult.answered(.customer($0))]) }
        let fixture = Self.fixture(Dictionary(uniqueKeysWithValues: known), .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, receipt), at: Samples.time(900))
        #expect(fixture.customers.asked == ["9", "8", "7", "6"])
        #expect(answer.subscriptions.count == 9 && answer.provenance.degradedReasons == [.customerLimit])
    }

    @Test func `an answer about many chains looks few up in the cache while Apple fails`() async throws {
        let receipt = Samples.receipt(with: (10..<50).map { Period("\($0)", 0..<100, of: "\($0)") })
        let fixture = Self.fixture(["49": [.unanswered(.upstreamTimeout)]], .serverAPI)
        let answer = try await fixture.ask(Self.request(.auto, receipt), at: Samples.time(900))
        #expect(answer.verdict == .genuine && answer.provenance.degradedReasons == [.upstreamTimeout])
        #expect(answer.subscriptions.count == 40 && fixture.customers.asked == ["49"])
        #expect(fixture.events.lines.count { $0 == "looked up miss" } == CustomerResults.Limits.missing)
    }

    // MARK: - Consumables

    private static func customer(_ unfinished: UnfinishedConsumables) -> UpstreamAnswer {
        var answer = UpstreamAnswer.customer("1")
        for id in ["7", "8"] {
            var coins = Transaction(productID: "com.example.coins", transactionID: id)
            (coins.productType, coins.purchaseDate) = (.consumable, Samples.time(1))
            answer.transactions.append(coins)
        }
        answer.unfinishedConsumables = unfinished
        return answer
    }

    @Test func `only Apple's form leaves out finished consumables`() async throws {
        let fixture = Self.fixture(
            ["1": [.answered(Self.customer(.notRequested)), .answered(Self.customer(.known(["8"])))]], .serverAPI)
        let verdict = try await fixture.ask(Self.request(), at: Samples.time(150))
        #expect(verdict.transactions.map(\.transactionID) == ["1", "12", "13", "7", "8"])
        #expect(fixture.customers.requests.map(\.listsUnfinishedConsumables) == [false])
        // The cached answer has no such difference.
        let form = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(151))
        #expect(form.transactions.map(\.transactionID) == ["1", "12", "13", "8"] && !form.mayLackConsumables)
        #expect(fixture.customers.requests.map(\.listsUnfinishedConsumables) == [false, true])
        // Once known, they are kept up to date, and the answers are shared.
        let again = try await fixture.ask(Self.request(), at: Samples.time(1200))
        #expect(again.transactions.count == 5)
        #expect(fixture.customers.requests.map(\.listsUnfinishedConsumables) == [false, true, true])
    }

    @Test func `a customer without consumables does not hide which are finished`() async throws {
        var first = Self.customer(.known(["8"])), second = UpstreamAnswer.customer("5")
        second.unfinishedConsumables = .notRequested
        let fixture = Self.fixture(["1": [.answered(first)], "5": [.answered(second)]], .serverAPI)
        let form = try await fixture.ask(Self.request(.appleFirst, Self.twoCustomers), at: Samples.time(150))
        #expect(form.transactions.contains { $0.transactionID == "8" } && !form.mayLackConsumables)
        #expect(!form.transactions.contains { $0.transactionID == "7" })
        first.unfinishedConsumables = .unavailable
        second.join(first)
        #expect(second.unfinishedConsumables == .unavailable && second.renewals.isEmpty)
    }

    @Test func `a consumable that only the receipt shows is listed`() async throws {
        let coins = Period(item: "9", at: 120),
            receipt = Samples.receipt(with: [Period("1", 0..<100), coins]) {
                for index in $0.purchases.indices where $0.purchases[index].transactionID == "9" {
                    $0.purchases[index].productType = .consumable
                }
            }
        let fixture = Self.fixture(["1": [.answered(Self.customer(.known([])))]], .serverAPI)
        let form = try await fixture.ask(Self.request(.appleFirst, receipt), at: Samples.time(150))
        #expect(form.transactions.map(\.transactionID) == ["1", "12", "13", "9"] && !form.mayLackConsumables)
    }

    @Test func `without that list consumables are those of the receipt`() async throws {
        let fixture = Self.fixture(["1": [.answered(Self.customer(.unavailable))]], .serverAPI)
        for seconds in [150, 151] as [Int64] {
            let form = try await fixture.ask(Self.request(.appleFirst), at: Samples.time(seconds))
            #expect(form.transactions.map(\.transactionID) == ["1", "12", "13"] && form.mayLackConsumables)
        }
        #expect(fixture.customers.asked.count == 1)
    }
}
