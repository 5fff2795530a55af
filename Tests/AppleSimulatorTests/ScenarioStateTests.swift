// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import AppleSimulator

/// The assignment of faults to calls.
struct ScenarioStateTests {
    private let clock = ManualClock()

    private func state(_ yaml: String) throws -> ScenarioState {
        ScenarioState(try Scenario(yaml: yaml), startingAt: clock.now)
    }

    @Test func `phases with a number of requests are a sequence`() throws {
        var state = try state(
            "faults: [{requests: 2, fault: html}, {requests: 1, fault: none}, {requests: 1, fault: reset}]")
        let faults = (0..<5).map { _ in state.effects(at: .production, clock.now).fault }
        #expect(faults == [.html, .html, ServerFault.none, .reset, nil])
    }

    @Test func `a phase begins at its time and ends before its end`() throws {
        var state = try state("faults: [{from: 1, for: 2, fault: html}]")
        var faults: [ServerFault?] = []
        for _ in 0..<4 {
            faults.append(state.effects(at: .production, clock.now).fault)
            clock.advance(bySeconds: 1)
        }
        #expect(faults == [nil, .html, .html, nil])
    }

    @Test func `a phase of one endpoint leaves the other alone, and its requests uncounted`() throws {
        var state = try state("faults: [{endpoint: sandbox, requests: 1, fault: html}]")
        let faults = [Endpoint.production, .sandbox, .sandbox].map { state.effects(at: $0, clock.now).fault }
        #expect(faults == [nil, .html, nil])
    }

    @Test(arguments: [("20d", 20 * 86_400), ("12s", 12), ("-1d", -86_400)] as [(String, Int64)])
    func `the end is announced for a time from the scenario's start on`(text: String, seconds: Int64) throws {
        var state = try state("faults: [{headers: {A: 1}, sunset_in: \(text)}]")
        let date = HTTPDate.text(clock.now.advanced(by: .seconds(seconds)))
        clock.advance(bySeconds: 5)
        let headers = state.effects(at: .production, clock.now).headers
        #expect(headers == [.init(name: "A", value: "1"), .init(name: "Sunset", value: date)])
    }

    @Test func `phases add up, and the earlier one counts`() throws {
        var state = try state(
            """
            faults:
              - {fault: html}
              - {fault: reset, latency: 2}
              - {latency: 3, headers: {A: 1}}
            """)
        let effects = state.effects(at: .production, clock.now)
        #expect(effects.fault == .html && effects.latency == .seconds(2))
        #expect(effects.headers == [.init(name: "A", value: "1")])
    }

    @Test func `a share is nearly exact, and the same for the same calls`() throws {
        var (first, second) = (
            try state("faults: [{share: 0.3, fault: html}]"), try state("faults: [{share: 0.3, fault: html}]")
        )
        let faults = (0..<3000).map { _ in first.effects(at: .production, clock.now).fault }
        #expect((800...1000).contains(faults.count { $0 != nil }))
        #expect(faults == (0..<3000).map { _ in second.effects(at: .production, clock.now).fault })
    }

    @Test func `latencies keep within their bounds`() throws {
        var generator = SplitMix64(seed: TestSeed.number(1))
        for _ in 0..<500 {
            let uniform = Latency.uniform(from: 0.1, to: 0.2).draw(using: &generator)
            #expect(.milliseconds(100) <= uniform && uniform < .milliseconds(200))
        }
        let lognormal = (0..<2000).map { _ in
            Latency.lognormal(median: 1, sigma: 1, cap: 5).draw(using: &generator)
        }.sorted()
        // Eight standard errors of the median.
        #expect((0.8...1.25).contains(lognormal[1000] / .seconds(1)))
        #expect(lognormal.last == .seconds(5) && lognormal[0] > .zero)
    }

    @Test func `a certificate is wrong only in its own phase`() throws {
        var state = try state("faults: [{requests: 1, fault: html}, {requests: 1, fault: tls}]")
        let before = state.showsWrongCertificate(at: .production, clock.now)
        let first = state.effects(at: .production, clock.now)
        let isWrong = (0..<2).map { _ in state.showsWrongCertificate(at: .production, clock.now) }
        #expect(!before && first.fault == .html && isWrong == [true, false])
    }
}
