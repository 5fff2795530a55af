// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import Testing
import TestSupport

/// Rate limits by Apple.
@Suite(.timeLimit(.patient)) struct PauseTests {
    private var stage: Stage { .current }
    private static let pause = #"upstream_pause_until_timestamp_seconds{api="verify_receipt",environment="production"}"#

    @Test(arguments: [
        // In milliseconds, as Apple writes it.
        "faults: [{requests: 1, fault: {throttled: 12000}}]",
        #"faults: [{requests: 1, fault: {http_status: 503}, headers: {Retry-After: "12"}}]"#,
    ])
    func `after a 429, or a 503 with a time, no request is sent before the time that Apple named`(
        scenario: String
    ) async throws {
        try await withStage(scenario) { stage in
            #expect(try await stage.metric(Self.pause) == 0)
            let earliest = Date().timeIntervalSince1970 + 12
            let first = try await stage.verify(Sample.receipt(0))
            let latest = Date().timeIntervalSince1970 + 12
            #expect(first.isLabelled("upstream_paused"), "\(first)")
            let until = try await stage.metric(Self.pause)
            #expect((earliest - 0.01...latest + 0.01).contains(until))
            #expect(try await stage.questions("throttled") == 1)
            try await Self.expectSilence(of: stage, until: until)
            try await eventually("Apple is asked again") { try await stage.verify(Sample.receipt(0)).isApples }
            #expect(Date().timeIntervalSince1970 >= until - 0.01)
            #expect(stage.apple.stats.production == 2)
            #expect(try await stage.metric(Self.pause) == 0)
        }
    }

    @Test(.stage("faults: [{requests: 1, fault: {http_status: 503}}]"))
    func `a 503 without a time is retried at once`() async throws {
        let verdict = try await stage.verify(Sample.receipt(0))
        #expect(verdict.isApples && stage.apple.stats.production == 2, "\(verdict)")
        #expect(try await stage.metric(Self.pause) == 0)
    }

    private static func expectSilence(of stage: Stage, until: Double) async throws {
        for number in 0..<10 {
            let verdict = try await stage.verify(Sample.receipt(number))
            // Only a very slow machine gets here after the pause.
            guard Date().timeIntervalSince1970 < until else { return }
            #expect(verdict.isLabelled("upstream_paused"), "\(verdict)")
        }
        let apple = try await stage.verify(Sample.receipt(0), mode: "apple")
        #expect(apple.verdict == "undecided" && apple.degradedReasons == ["upstream_paused"], "\(apple)")
        #expect(stage.apple.stats.production == 1)
        let held = try await stage.metric(
            #"upstream_rejected_total{api="verify_receipt",environment="production",reason="upstream_paused"}"#)
        #expect(held == 11)
    }
}
