// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import LoadTest

/// The threshold that every run has.
struct UsefulAnswersTests {
    /// Measurements of a run with so many requests of each outcome.
    private static func measurements(_ outcomes: [LoadOutcome: Int], status: Int? = 200) -> LoadMeasurements {
        var measurements = LoadMeasurements()
        for (outcome, count) in outcomes {
            measurements.counts.outcomes[outcome.index] = count
            measurements.counts.intended += count
            if let status { measurements.statuses[status, default: 0] += count }
        }
        return measurements
    }

    private static func missed(
        _ mix: String?, _ measurements: LoadMeasurements, beside given: [String] = [],
        url: String = "http://h/v1/verify"
    ) throws -> (threshold: RunResult.Threshold, hint: String)? {
        let shares = try mix.map { try #require(RequestMix(argument: $0)).byName } ?? [:]
        return UsefulAnswers(mix: shares, requests: measurements.counts.intended, url: url)
            .missed(by: measurements, beside: try given.map { try #require(Threshold(argument: $0)) })
    }

    @Test(
        arguments: [
            ("repeat=1", [LoadOutcome.error: 9]), ("repeat=1", [.rejected: 100]),
            ("fresh=1", [.rejected: 1, .error: 8]),
            ("known-id=1", [.undecided: 5]), ("repeat=0.5,forged=0.5", [.rejected: 100]), ("forged=1", [.refused: 100]),
            ("malformed=1", [.error: 100]), ("notification=1", [.refused: 3]), ("unknown-id=1", [.shed: 3]),
            (nil, [.refused: 3]), (nil, [.error: 1]),
        ] as [(String?, [LoadOutcome: Int])])
    func `a run without a useful answer misses it`(mix: String?, outcomes: [LoadOutcome: Int]) throws {
        let missed = try #require(try Self.missed(mix, Self.measurements(outcomes)))
        #expect(missed.threshold.expression == "useful>0%" && missed.threshold.measured == 0 && !missed.threshold.met)
        #expect(missed.threshold.text == "useful 0 %, wanted >0%" && missed.hint.hasSuffix("and its answer."))
    }

    @Test(
        arguments: [
            ("repeat=1", [LoadOutcome.error: 99, .local: 1]), ("repeat=1", [.rejected: 99, .degraded: 1]),
            ("repeat=1", [:]), ("forged=1", [.rejected: 100]), ("malformed=1", [.refused: 50, .rejected: 50]),
            ("unknown-id=1", [.undecided: 9]), ("unknown-id=1", [.refused: 9]),
            ("notification=1", [.ok: 1, .refused: 9]),
            // Among so few requests none may have been genuine.
            ("repeat=0.1,forged=0.9", [.rejected: 100]), (nil, [.rejected: 1]), (nil, [.ok: 1, .error: 99]),
        ] as [(String?, [LoadOutcome: Int])])
    func `one useful answer is enough`(mix: String?, outcomes: [LoadOutcome: Int]) throws {
        #expect(try Self.missed(mix, Self.measurements(outcomes)) == nil)
    }

    @Test func `a share so small that chance explains its absence needs more requests`() throws {
        #expect(try Self.missed("repeat=0.1,forged=0.9", Self.measurements([.rejected: 1000])) != nil)
    }

    @Test(arguments: [("rejected>=100%", false), ("rejected>=50%", false), ("rejected<1%", true), ("refused<1%", true)])
    func `a threshold of the user's that wants this takes its place`(given: String, isMissed: Bool) throws {
        let missed = try Self.missed("repeat=1", Self.measurements([.rejected: 50]), beside: [given])
        #expect((missed != nil) == isMissed)
    }

    @Test(arguments: [("error>=100%", false), ("errors>=100%", false), ("errors<1%", true), ("errors<=100%", false)])
    func `errors may be wanted by either name`(given: String, isMissed: Bool) throws {
        var measurements = Self.measurements([.error: 50], status: nil)
        measurements.counts.timedOut = 50
        #expect((try Self.missed("repeat=1", measurements, beside: [given]) != nil) == isMissed)
    }

    @Test(
        arguments: [
            (LoadOutcome.rejected, 200, "GATEWAY_TRUST_ROOTS"), (.undecided, 200, "--mode local"),
            (.refused, 404, "http://h/v1/other"), (.refused, 405, "/v1/verify"), (.refused, 401, "--api-key"),
            (.refused, 413, "--receipt-bytes"), (.shed, 429, "limits"), (.error, 500, "Status 500"),
            (.error, nil, "--timeout"),
        ] as [(LoadOutcome, Int?, String)])
    func `the hint names what to change`(outcome: LoadOutcome, status: Int?, word: String) throws {
        let measurements = Self.measurements([outcome: 3], status: status)
        let missed = try #require(try Self.missed("repeat=1", measurements, url: "http://h/v1/other"))
        #expect(missed.hint.contains(word), "\(missed.hint)")
    }

    private static func result(_ outcomes: [LoadOutcome: Int]) throws -> RunResult {
        let command = try HTTPCommand.parse(["http://127.0.0.1:8080", "-R", "100", "-d", "1s"])
        let plan = try command.plan()
        let record = RunRecord(plan: plan, description: command.traffic.description(of: plan))
        var measurements = Self.measurements(outcomes)
        (measurements.counts.answered, measurements.seconds) = (measurements.counts.intended, 1)
        return record.result(measurements, RunRecord.Extras(), wasInterrupted: false)
    }

    @Test func `a search ends where no rate helps, and goes on where fewer requests may`() throws {
        #expect(SearchCommand.end(try Self.result([.rejected: 100])) == .nothing)
        #expect(SearchCommand.end(try Self.result([.refused: 100])) == .nothing)
        #expect(SearchCommand.end(try Self.result([.shed: 90, .refused: 10])) == nil)
        #expect(SearchCommand.end(try Self.result([.rejected: 99, .local: 1])) == nil)
    }

    @Test func `a result without a useful answer has not passed, and says why`() throws {
        let result = try Self.result([.rejected: 100])
        #expect(result.verdict == .thresholdMissed && result.verdict.exitStatus == 99)
        #expect(result.thresholds.map(\.expression) == ["useful>0%"] && result.verdictReasons.count == 2)
        #expect(result.headline == "Failed: 1 of 1 thresholds missed")
        #expect(RunText(result: result).verdict.hasPrefix("THRESHOLD MISSED"))
    }
}
