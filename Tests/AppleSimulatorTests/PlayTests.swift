// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import AppleSimulator

/// The assignment of faults to calls.
struct PlayTests {
    private let clock = ManualClock()

    private func play(_ yaml: String) throws -> Play {
        Play(try Scenario(yaml: yaml), startingAt: clock.now)
    }

    @Test func `phases with a number of requests are a sequence`() throws {
        var play = try play(
            "faults: [{requests: 2, fault: html}, {requests: 1, fault: none}, {requests: 1, fault: reset}]")
        let faults = (0..<5).map { _ in play.treatment(at: .production, clock.now).fault }
        #expect(faults == [.html, .html, ServerFault.none, .reset, nil])
    }

    @Test func `a phase begins at its time and ends before its end`() throws {
        var play = try play("faults: [{from: 1, for: 2, fault: html}]")
        var faults: [ServerFault?] = []
        for _ in 0..<4 {
            faults.append(play.treatment(at: .production, clock.now).fault)
            clock.advance(bySeconds: 1)
        }
        #expect(faults == [nil, .html, .html, nil])
    }

    @Test func `a phase of one endpoint leaves the other alone, and its requests uncounted`() throws {
        var play = try play("faults: [{endpoint: sandbox, requests: 1, fault: html}]")
        let faults = [Endpoint.production, .sandbox, .sandbox].map { play.treatment(at: $0, clock.now).fault }
        #expect(faults == [nil, .html, nil])
    }

    @Test func `phases add up, and the earlier one counts`() throws {
        var play = try play(
            """
            faults:
              - {fault: html}
              - {fault: reset, latency: 2}
              - {latency: 3, headers: {A: 1}}
            """)
        let treatment = play.treatment(at: .production, clock.now)
        #expect(treatment.fault == .html && treatment.latency == .seconds(2))
        #expect(treatment.headers == [.init(name: "A", value: "1")])
    }

    @Test func `a share is nearly exact, and the same for the same calls`() throws {
        var (first, second) = (
            try play("faults: [{share: 0.3, fault: html}]"), try play("faults: [{share: 0.3, fault: html}]")
        )
        let faults = (0..<3000).map { _ in first.treatment(at: .production, clock.now).fault }
        #expect((800...1000).contains(faults.count { $0 != nil }))
        #expect(faults == (0..<3000).map { _ in second.treatment(at: .production, clock.now).fault })
    }

    @Test func `latencies keep within their bounds`() throws {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<500 {
            let uniform = Latency.uniform(from: 0.1, to: 0.2).draw(using: &generator)
            #expect(.milliseconds(100) <= uniform && uniform < .milliseconds(200))
        }
        let lognormal = (0..<2000).map { _ in
            Latency.lognormal(median: 1, sigma: 1, cap: 5).draw(using: &generator)
        }.sorted()
        #expect((0.9...1.1).contains(lognormal[1000] / .seconds(1)))
        #expect(lognormal.last == .seconds(5) && lognormal[0] > .zero)
    }

    @Test func `a certificate is wrong only in its own phase`() throws {
        var play = try play("faults: [{requests: 1, fault: html}, {requests: 1, fault: tls}]")
        let before = play.showsWrongCertificate(at: .production, clock.now)
        let first = play.treatment(at: .production, clock.now)
        let isWrong = (0..<2).map { _ in play.showsWrongCertificate(at: .production, clock.now) }
        #expect(!before && first.fault == .html && isWrong == [true, false])
    }
}
