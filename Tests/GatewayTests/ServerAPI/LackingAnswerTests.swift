// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import Gateway

/// Answers of Apple from which an item was left out because it cannot be read. The evidence's period ends 240 seconds
/// after it was signed.
struct LackingAnswerTests {
    private static let original = SignedSamples.original

    /// Returns the fixture's answer with these of its three periods.
    private static func answer(_ periods: [Int], without item: UnreadableItem) -> UpstreamAnswer {
        var answer = UpstreamAnswer.customer(original)
        answer.transactions = periods.map { answer.transactions[$0] }
        answer.leaveOut([item], at: SignedSamples.time(250))
        return answer
    }

    /// Returns evidence of the third period, signed when it began.
    private static func renewed(_ id: String) -> VerificationRequest {
        VerificationRequest([
            SignedSamples.transaction { contents in
                contents.transactionID = id
                (contents.purchaseDate, contents.expiresDate) = (SignedSamples.time(240), SignedSamples.time(2000))
                contents.signedDate = SignedSamples.time(241)
            }
        ])
    }

    private static let item = UnreadableItem(
        transactionID: original + "3", originalTransactionID: original, productID: "com.example.forge.monthly",
        fault: "f")

    @Test func `the rest counts, is labelled, and is asked for again soon`() async throws {
        let lacking = Self.answer([0, 1], without: Self.item), whole = UpstreamAnswer.customer(Self.original)
        let fixture = CustomerFixture([Self.original: [.answered(lacking), .answered(whole)]])
        let request = VerificationRequest([SignedSamples.transaction()])
        for (seconds, calls) in [(250, 1), (279, 1)] as [(Int64, Int)] {
            let answer = try await fixture.ask(request, at: seconds)
            #expect(answer.verdict == .genuine && answer.subscriptions.map(\.state) == [.expired])
            #expect(answer.provenance.source == .serverAPI)
            #expect(answer.provenance.degradedReasons == [.upstreamItemUnreadable])
            #expect(answer.freshUntil <= SignedSamples.time(280) && fixture.customers.asked.count == calls)
        }
        // Later than stale answers are given.
        let again = try await fixture.ask(request, at: 345)
        #expect(again.subscriptions.map(\.state) == [.active] && !again.provenance.isDegraded)
        // From the beginning of the history.
        #expect(fixture.customers.requests.map { $0.known == nil } == [true, true])
    }

    @Test func `the evidence takes the place of an item that cannot be read`() async throws {
        let lacking = Self.answer([0, 1], without: Self.item)
        let fixture = CustomerFixture([Self.original: [.answered(lacking)]])
        let answer = try await fixture.ask(Self.renewed(Self.original + "3"), at: 900)
        #expect(answer.subscriptions.map(\.state) == [.active] && answer.provenance.source == .serverAPI)
        #expect(answer.provenance.degradedReasons == [.upstreamItemUnreadable])
    }

    @Test func `a refund that cannot be read ends the evidence, too`() async throws {
        var item = Self.item
        item.isRevoked = true
        for (periods, state) in [([0, 1], .expired), ([0, 1, 2], .revoked)] as [([Int], SubscriptionState)] {
            var lacking = UpstreamAnswer.customer(Self.original)
            lacking.transactions = periods.map { lacking.transactions[$0] }
            lacking.leaveOut([item], at: SignedSamples.time(900))
            let fixture = CustomerFixture([Self.original: [.answered(lacking)]])
            let answer = try await fixture.ask(Self.renewed(Self.original + "3"), at: 900)
            #expect(answer.subscriptions.map(\.state) == [state])
            #expect(answer.provenance.degradedReasons == [.upstreamItemUnreadable])
        }
    }

    @Test func `an earlier answer takes the place of an item that cannot be read`() async throws {
        let whole = UpstreamAnswer.customer(Self.original), lacking = Self.answer([0, 1], without: Self.item)
        let fixture = CustomerFixture([Self.original: [.answered(whole), .answered(lacking)]])
        let request = VerificationRequest([SignedSamples.transaction()])
        #expect(try await fixture.ask(request, at: 250).provenance.isDegraded == false)
        for seconds in [1500, 1600] as [Int64] {
            let answer = try await fixture.ask(request, at: seconds)
            #expect(answer.subscriptions.map(\.state) == [.active], "\(seconds)")
            #expect(answer.provenance.degradedReasons == [.upstreamItemUnreadable])
        }
        #expect(fixture.customers.asked.count == 3)
    }

    @Test func `a gap is filled only by what the item may be`() {
        func answer(_ ids: [String], without items: [UnreadableItem]) -> UpstreamAnswer {
            var answer = UpstreamAnswer.customer(Self.original)
            answer.transactions = ids.map { id in
                var transaction = Transaction(productID: "p", transactionID: id)
                transaction.originalTransactionID = "1"
                return transaction
            }
            answer.leaveOut(items, at: SignedSamples.time(0))
            return answer
        }
        let earlier = answer(["1", "2", "3"], without: [])
        for (item, ids) in [
            (UnreadableItem(transactionID: "2", originalTransactionID: "1", fault: "f"), ["1", "2"]),
            (UnreadableItem(transactionID: "2", fault: "f"), ["1", "2"]),
            (UnreadableItem(fault: "f"), ["1", "2", "3"]),
            (UnreadableItem(originalTransactionID: "7", fault: "f"), ["1"]),
        ] as [(UnreadableItem, [String])] {
            var lacking = answer(["1"], without: [item])
            lacking.fillGaps(from: earlier)
            #expect(lacking.transactions.map(\.transactionID) == ids)
        }
        let refund = UnreadableItem(transactionID: "2", originalTransactionID: "1", isRevoked: true, fault: "f")
        var lacking = answer(["1"], without: [refund])
        lacking.fillGaps(from: earlier)
        #expect(lacking.transactions.map { $0.cancellationDate != nil } == [false, true])
        // What was added is not compared with what Apple signed.
        let evidence = VerificationSubject.lookup(bundleID: SignedSamples.app, transactionID: "1")
        #expect(lacking.contradiction(to: evidence, answerReceipt: nil) == nil)
    }
}
