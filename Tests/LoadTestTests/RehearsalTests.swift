// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NIOCore
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator
@testable import LoadTest

struct RehearsalTests {
    private static func reply(
        _ verdict: String, _ source: String, _ cache: String = "miss", degraded: Bool = false, status: Int = 200
    ) -> Result<Reply, DriveError> {
        let body =
            #"{"verdict":"\#(verdict)","provenance":{"source":"\#(source)","cache":"\#(cache)","#
            + #""verified_at":"2026-11-21T01:03:10Z","degraded":\#(degraded),"degraded_reasons":[]},"subscriptions":[]}"#
        return .success(Reply(status: status, body: ByteBuffer(string: body)))
    }

    // MARK: - Answers

    @Test(arguments: [
        (reply("genuine", "apple"), AnswerKind.apple), (reply("genuine", "apple", "near"), .apple),
        (reply("genuine", "apple", "stale", degraded: true), .stale), (reply("genuine", "local"), .local),
        (reply("genuine", "local", degraded: true), .degraded),
        (reply("undecided", "local", degraded: true), .undecided), (reply("rejected", "local"), .rejected),
        (reply("genuine", "apple", status: 503), .error), (.failure(.timeout), .error),
        (.success(Reply(status: 200, body: ByteBuffer(string: "<html>"))), .error),
    ])
    func `an answer is counted by verdict and source`(reply: Result<Reply, DriveError>, kind: AnswerKind) {
        #expect(AnswerKind(reply) == kind)
    }

    // MARK: - Rows

    private static let scrape = Scrape(
        """
        receipt_gateway_circuit_breaker_state{api="verify_receipt",environment="production",state="closed"} 0
        receipt_gateway_circuit_breaker_state{api="verify_receipt",environment="production",state="open"} 1
        receipt_gateway_circuit_breaker_state{api="verify_receipt",environment="sandbox",state="closed"} 1
        receipt_gateway_circuit_breaker_transitions_total{api="verify_receipt",environment="production",from="closed",to="open"} 1
        receipt_gateway_circuit_breaker_transitions_total{api="verify_receipt",environment="production",from="half_open",to="open"} 2
        receipt_gateway_circuit_breaker_transitions_total{api="verify_receipt",environment="sandbox",from="closed",to="open"} 9
        """)

    @Test func `a reading takes production's breaker and every endpoint's calls`() {
        var apple = StatsDetails()
        apple.outcomes = ["production": ["status_0": 5, "http_502": 2, "html": 1], "sandbox": ["status_21007": 1]]
        let reading = Reading(apple, Self.scrape)
        #expect(reading.asked == 9 && reading.failed == 3 && reading.breaker == "open" && reading.trips == 3)
        #expect(Reading(apple, nil).breaker == nil)
    }

    @Test func `a row tells what happened within its interval`() throws {
        var before = Reading(), after = Reading(), tally = Tally()
        (before.asked, before.failed, before.trips) = (10, 1, 1)
        (after.asked, after.failed, after.trips, after.breaker) = (14, 4, 2, "half_open")
        for kind in AnswerKind.allCases { tally.record(kind, .milliseconds(40)) }
        tally.record(.stale, .milliseconds(40))
        let row = RehearsalRow(end: .seconds(3), tally, before, after)
        let cells = RehearsalTable.line(row).split(separator: " ").map(String.init)
        let expected = "3.0 s 8 40.0 40.0 4 3 half_open 1 1 2 1 1 1 1 1"
        #expect(cells == expected.split(separator: " ").map(String.init))
        #expect(RehearsalTable.line(row).count == RehearsalTable.header.count)
    }

    @Test func `a row without requests has no latencies`() {
        let row = RehearsalRow(end: .seconds(3), Tally(), Reading(), Reading())
        #expect(row.p50Milliseconds == nil && RehearsalTable.line(row).contains(" -  "))
    }

    @Test func `the summary is good only if every receipt was called genuine`() {
        var tally = Tally()
        #expect(!RehearsalSummary(tally, Reading()).isGood)
        for kind in AnswerKind.allCases.filter(\.isGenuine) { tally.record(kind, .milliseconds(1)) }
        let good = RehearsalSummary(tally, Reading())
        #expect(good.isGood && good.degraded == 2 && good.answered == 4)
        for kind in AnswerKind.allCases.filter({ !$0.isGenuine }) {
            var bad = tally
            bad.record(kind, .milliseconds(1))
            #expect(!RehearsalSummary(bad, Reading()).isGood, "\(kind)")
        }
    }

    // MARK: - Who asks, and what goes wrong

    @Test(arguments: [(3000, 200), (10, 10), (5, 100), (100, 1)])
    func `customers come one after another, until all have come`(requests: Int, receipts: Int) {
        let visits = Visits(requests: requests, receipts: receipts)
        let seen = (0..<requests).map(visits.receipt(ofRequest:))
        var known = 0
        for number in seen {
            #expect(number <= known)
            known = max(known, number + 1)
        }
        #expect(known == min(requests, receipts))
    }

    @Test func `new customers come to the last moment`() {
        let visits = Visits(requests: 3000, receipts: 200)
        let half = (0..<1500).map(visits.receipt(ofRequest:)).max() ?? 0
        #expect((98...101).contains(half))
    }

    @Test func `the day of 24 January 2020 fits into a minute`() throws {
        let start = Timestamp.now()
        var state = ScenarioState(try OutageStory(duration: 60).scenario(), startingAt: start)
        func failures(after seconds: Int) -> Int {
            let now = start.advanced(by: .seconds(seconds))
            return (0..<1000).filter { _ in state.effects(at: .production, now).fault != nil }.count
        }
        #expect(failures(after: 9) == 0)
        #expect((400...500).contains(failures(after: 11)))
        #expect(failures(after: 21) == 1000 && failures(after: 39) == 1000)
        #expect(failures(after: 41) == 0)
    }

    @Test func `the same seed mints the same receipts, no two alike`() {
        let minted = ProductionReceipts.mint(12, signedBy: TestBench.sample.pki, seed: 1) { _ in }
        let again = ProductionReceipts.mint(12, signedBy: TestBench.sample.pki, seed: 1) { _ in }
        #expect(Set(minted).count == 12 && minted == again)
    }

    // MARK: - Options

    @Test func `without options a rehearsal takes a minute, fifty requests a second`() throws {
        let plan = try RehearseCommand.parse([]).plan
        #expect(plan.requests == 3000 && plan.receipts == 200 && plan.rows == 20 && plan.mode == .auto)
        #expect(plan.interval == .seconds(3) && plan.connections == 250)
    }

    @Test(arguments: [
        ["--duration", "0"], ["--duration", "nan"], ["--rate", "0"], ["--rate", "2001"], ["--receipts", "0"],
        ["--mode", "guess"], ["--rows", "0"], ["--rows", "1001"], ["--max-age", "-1"], ["--format", "xml"],
    ])
    func `rehearse refuses what it cannot rehearse`(options: [String]) {
        #expect(throws: (any Error).self) { try RehearseCommand.parse(options) }
    }
}
