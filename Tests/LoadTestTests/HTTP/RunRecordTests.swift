// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import LoadTest

/// The result of a run, built from its measurements.
struct RunRecordTests {
    /// 60 requests at 30 a second, of which one waited in vain, as two workers would tell of them.
    private static func result(wasInterrupted: Bool = false, seconds: Double = 2) throws -> RunResult {
        let command = try HTTPCommand.parse([
            "http://127.0.0.1:8080", "--stages", "1s:20,1s:40", "-R", "20", "--warmup", "1s", "--mix", "forged=0.5",
        ])
        let plan = try command.plan()
        var record = RunRecord(plan: plan, description: command.traffic.description(of: plan))
        var recorder = Recorder(limits: plan.limits)
        for number in 0..<60 {
            if let slice = recorder.turn(to: number / 20) { _ = record.add(slice) }
            recorder.took(.measured, lag: Int64(number) * 200_000)
            recorder.sent(.measured, bytes: 10)
            let response = Int64(number + 1) * 1_000_000
            if number == 59 {
                recorder.failed(.measured, .timeout, after: response, service: response)
            } else {
                let answer = LoadAnswer(
                    status: number < 50 ? 200 : 429, outcome: number < 50 ? .hitNear : .shed, isLast: false)
                recorder.answered(.measured, answer, response: response, service: response / 2)
            }
        }
        let time = ThreadTime(running: 0.5, waiting: 0.1)
        if let slice = recorder.finish(time, seconds: seconds) { _ = record.add(slice) }
        let thresholds = try ["p99<1s", "shed<1%"].map { try #require(Threshold(argument: $0)) }
        return record.result(
            recorder.measurements, RunRecord.Extras(thresholds: thresholds), wasInterrupted: wasInterrupted)
    }

    @Test func `a result adds up`() throws {
        let result = try Self.result()
        let totals = result.totals
        #expect(totals.intended == 60 && totals.sent == 60 && totals.answered == 50 && totals.shed == 9)
        #expect(totals.failed == 0 && totals.unanswered == 1 && result.errors == ["timeout": 1])
        #expect(totals.sent == totals.answered + totals.failed + totals.shed + totals.unanswered)
        #expect(totals.targetPerSecond == 30 && totals.achievedPerSecond == 25 && totals.sentBytes == 600)
        #expect(result.statuses == ["200": 50, "429": 9] && result.response.count == 60 && result.service.count == 60)
        #expect(result.outcomes.map(\.outcome) == ["hit_near", "shed", "error"])
        #expect(result.outcomes.reduce(0) { $0 + $1.count } == 60)
        #expect(abs(result.errorPercent - 100.0 / 60) < 1e-9)
        #expect(result.generator.lateSends == 34 && result.generator.cpuShare == 0.25)
        #expect(
            result.plan.stages.map(\.toPerSecond) == [20, 40] && result.plan.mix == ["repeat": 0.5, "forged": 0.5])
        #expect(result.verdict == .generatorOverloaded && result.verdictReasons.count == 2)
    }

    @Test(arguments: [(false, 30.0), (true, 40.0)])
    func `the target is what was due in the planned time, or until the interruption`(
        wasInterrupted: Bool, target: Double
    ) throws {
        // The last answer came before the end.
        let result = try Self.result(wasInterrupted: wasInterrupted, seconds: 1.5)
        #expect(result.totals.targetPerSecond == target && result.totals.achievedPerSecond == 33.333)
    }

    @Test func `the timeline has a row for each second, with its target`() throws {
        let timeline = try Self.result().timeline
        #expect(timeline.map(\.second) == [0, 1, 2] && timeline.map(\.target) == [20, 20, 30])
        #expect(timeline.map(\.answered) == [20, 20, 10] && timeline.map(\.failed) == [0, 0, 1])
        #expect(timeline.map(\.shed) == [0, 0, 9])
        #expect(abs(try #require(timeline[1].maxMs) - 40) < 0.1)
    }

    @Test func `what is written can be read`() throws {
        let result = try Self.result(wasInterrupted: true)
        let text = try RunFormat.json.text(result)
        #expect(try RunResultFile.read(Array(text.utf8)) == result)
        #expect(result.verdict == .interrupted)
    }

    @Test func `a report begins with the verdict and leaves nothing out`() throws {
        let text = try RunFormat.text.text(Self.result())
        #expect(text.hasPrefix("GENERATOR OVERLOADED  25 of 30 answers/s for 2.000 s, p50 "))
        for word in [
            "did NOT keep", "34 of 60", "response", "service", "hit_near", "shed", "timeout: 1", "429: 9", "MISSED",
        ] {
            #expect(text.contains(word), "\(word)")
        }
    }

    @Test(arguments: [
        (true, RunResult.Verdict.passed, "generator kept its schedule: 34 of 60 requests late"),
        (false, .passed, "generator was late, by little beside the response: 34 of 60 requests late"),
        (false, .thresholdMissed, "generator was late, by little"),
        (false, .generatorOverloaded, "generator did NOT keep its schedule: 34 of 60"),
        (false, .interrupted, "generator did NOT keep"),
    ])
    func `a report says how punctual the generator was`(kept: Bool, verdict: RunResult.Verdict, line: String) throws {
        var result = try Self.result()
        (result.generator.keptSchedule, result.verdict) = (kept, verdict)
        #expect(RunText(result: result).text.contains(line))
    }

    @Test func `rows for a spreadsheet have as many cells as names`() throws {
        let rows = try RunFormat.csv.text(Self.result()).split(separator: "\n")
            .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        #expect(rows.count == 4 && Set(rows.map(\.count)).count == 1)
        #expect(rows[0].first == "second" && rows[3].first == "2")
    }

    @Test func `lines of JSON are one line each, and quiet is quiet`() throws {
        let result = try Self.result()
        let line = try RunFormat.ndjson.line(result.timeline[0])
        #expect(line.hasPrefix("{") && line.filter { $0 == "\n" }.count == 1)
        #expect(try RunFormat.ndjson.text(result).filter { $0 == "\n" }.count == 1)
        #expect(
            try RunFormat.quiet.text(result).isEmpty
                && RunFormat.text.line(result.timeline[0]).isEmpty)
    }

    @Test(arguments: [(0, 0), (1, 1), (2, 6), (1000, 50), (1_000_000, 86)])
    func `a ladder of percentiles goes as far as there are enough`(count: Int, steps: Int) {
        let ladder = RunResult.Distribution.ladder(count)
        #expect(ladder.count == steps && zip(ladder, ladder.dropFirst()).allSatisfy(<))
        #expect(RunResult.Distribution(Latencies()).p50Ms == nil)
    }
}
