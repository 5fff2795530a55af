// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LoadTest

struct RunResultFileTests {
    private static let sample = SampleRun(seconds: 2, warmup: 0).result()

    private static func read(_ change: (inout RunResult) -> Void) throws -> RunResult {
        var result = sample
        change(&result)
        return try RunResultFile.read(Array(JSONOutput.of(result).utf8))
    }

    private static func fault(_ change: (inout RunResult) -> Void) throws -> String {
        var result = sample
        change(&result)
        let text = Array(try JSONOutput.of(result).utf8)
        let fault = #expect(throws: RunResultFault.self) { try RunResultFile.read(text) }
        return fault.map { "\($0)" } ?? ""
    }

    @Test func `a file that is not there is named`() {
        #expect(throws: FileError.notReadable(path: "/nowhere")) { try RunResultFile.read("/nowhere") }
        #expect("\(FileError.notReadable(path: "/nowhere"))" == "Cannot read '/nowhere'.")
    }

    @Test func `a file without an end is not read to its end`() throws {
        let error = #expect(throws: ContentError<RunResultFault>.self) { try RunResultFile.read("/dev/zero") }
        guard error?.path == "/dev/zero", case .notJSON = error?.fault else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(throws: FileError.notReadable(path: "/tmp")) { try RunResultFile.read("/tmp") }
    }

    @Test func `another schema is named before anything else is looked at`() {
        let fault = #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(#"{"schema": 7}"#.utf8)) }
        #expect(fault == .otherSchema(7))
        #expect(fault.map { "\($0)" }?.contains("schema 7, and this program reads schema 1") == true)
    }

    @Test(arguments: ["", "[]", "{}", #"{"schema": "1"}"#, #"{"schema": 1.5}"#, "{\"schema\": 1", "\u{FEFF}{}"])
    func `what is no result is refused`(_ text: String) {
        #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(text.utf8)) }
    }

    @Test func `a member that is missing or of another type is named with its place`() throws {
        let text = try JSONOutput.of(Self.sample)
        let missing = text.replacingOccurrences(of: #""from_per_second" : 300,"#, with: "")
        #expect(throws: RunResultFault.member("plan.stages[0].from_per_second", "is missing")) {
            try RunResultFile.read(Array(missing.utf8))
        }
        let other = text.replacingOccurrences(of: #""workers" : 2"#, with: #""workers" : "two""#)
        #expect(throws: RunResultFault.member("plan.workers", "is no Int")) {
            try RunResultFile.read(Array(other.utf8))
        }
    }

    @Test func `a name that stands twice is no result`() throws {
        let text = try JSONOutput.of(Self.sample).replacingOccurrences(
            of: #""kind" : "http""#, with: #""kind" : "http", "kind" : "http""#)
        #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(text.utf8)) }
    }

    @Test func `a member of a later minor version is passed over`() throws {
        let text = try JSONOutput.of(Self.sample).replacingOccurrences(
            of: #""kind" : "http""#, with: #""kind" : "http", "new" : 1"#)
        #expect(try RunResultFile.read(Array(text.utf8)) == Self.sample)
    }

    // MARK: - Limits

    @Test func `as many as are allowed are read`() throws {
        let limits = RunResultLimits()
        let marks = Array(repeating: RunResult.Mark(atSeconds: 1, text: "x"), count: limits.marks)
        #expect(try Self.read { $0.marks = marks }.marks == marks)
        let text = String(repeating: "x", count: limits.text)
        #expect(try Self.read { $0.plan.name = text }.plan.name == text)
        #expect(try Self.read { $0.durationSeconds = limits.number }.durationSeconds == limits.number)
    }

    @Test func `one more than allowed is refused and named`() throws {
        let limits = RunResultLimits()
        func times<Value>(_ value: Value, _ most: Int) -> [Value] { Array(repeating: value, count: most + 1) }
        func points(_ most: Int) -> [RunResult.Point] { (0...most).map { RunResult.Point(x: Double($0) / 1e5, y: 1) } }
        let sample = Self.sample
        #expect(
            try Self.fault { $0.marks = times(RunResult.Mark(atSeconds: 1, text: ""), limits.marks) }
                == "marks: more than 1,000")
        #expect(try Self.fault { $0.outcomes = times(sample.outcomes[0], limits.outcomes) }.hasPrefix("outcomes: more"))
        #expect(
            try Self.fault { $0.thresholds = times(sample.thresholds[0], limits.thresholds) }.hasPrefix(
                "thresholds: more"))
        #expect(
            try Self.fault { $0.plan.stages = times(sample.plan.stages[0], limits.stages) }.hasPrefix(
                "plan.stages: more"))
        #expect(try Self.fault { $0.verdictReasons = times("", limits.entries) }.hasPrefix("verdict_reasons: more"))
        #expect(
            try Self.fault { $0.response.percentiles = points(limits.percentiles) }.hasPrefix(
                "response.percentiles: more"))
        #expect(try Self.fault { $0.metrics[0].points = points(limits.points) }.hasPrefix("metrics[0].points: more"))
        #expect(try Self.fault { $0.timeline = times(sample.timeline[0], limits.seconds) }.contains("more than"))
        #expect(
            try Self.fault {
                $0.marks[0...] = [RunResult.Mark(atSeconds: 1, text: String(repeating: "x", count: limits.text + 1))]
            }
                == "marks[0].text: a text of more than 8,192 bytes")
        #expect(
            try Self.fault { $0.metrics = times(RunResult.Series(name: "", kind: .gauge, points: []), limits.series) }
                .hasPrefix("metrics: more"))
    }

    @Test func `a file of more bytes than any run writes is refused before it is read through`() {
        let limits = RunResultLimits()
        let text = Array(repeating: UInt8(ascii: " "), count: limits.bytes + 1)
        #expect(throws: RunResultFault.self) { try RunResultFile.read(text) }
    }

    @Test func `numbers that cannot be are refused`() throws {
        #expect(try Self.fault { $0.durationSeconds = -1 } == "duration_seconds: must be 0 or more")
        #expect(try Self.fault { $0.timeline[1].p99 = -0.5 } == "timeline[1].p99_ms: must be 0 or more")
        #expect(try Self.fault { $0.errors = ["points": -1] } == "errors.points: must be 0 or more")
        #expect(try Self.fault { $0.plan.mix = ["seed": 1e300] } == "plan.mix.seed: is too large")
        #expect(try Self.fault { $0.totals.sent = -1 } == "totals.sent: must be 0 or more")
        #expect(
            try Self.fault { $0.marks = [RunResult.Mark(atSeconds: 1e16, text: "")] }
                == "marks[0].at_seconds: is too large")
        #expect(
            try Self.fault { $0.metrics[0].points = [RunResult.Point(x: 1, y: -1e16)] }
                == "metrics[0].points[0][1]: is too large")
    }

    @Test func `moments and percentiles must rise`() throws {
        #expect(try Self.fault { $0.timeline[1].second = 0 }.hasPrefix("timeline: seconds must rise"))
        #expect(try Self.fault { $0.timeline[1].second = 86_400 }.hasPrefix("timeline: seconds must rise"))
        #expect(try Self.fault { $0.service.percentiles[0].x = 100.5 } == "service.percentiles: must rise, up to 100")
        let backwards = [RunResult.Point(x: 2, y: 1), RunResult.Point(x: 1, y: 1)]
        #expect(
            try Self.fault { $0.metrics[1].points = backwards }
                == "metrics[1].points: must be in the order of time, from 0")
    }
}
