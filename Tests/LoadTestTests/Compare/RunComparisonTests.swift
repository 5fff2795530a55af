// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing

@testable import LoadTest

struct RunComparisonTests {
    private static let calm = SampleRun().result()
    private static let twin = SampleRun(seed: 2).result()
    private static let slow = SampleRun(seed: 3, slowness: 1.4).result()

    private static func judgement(_ name: String, _ comparison: RunComparison) -> NoiseRule.Judgement? {
        comparison.figures.first { $0.name == name }?.judgement
    }

    @Test func `two runs of one server differ by noise alone`() {
        let comparison = RunComparison(Self.calm, Self.twin)
        #expect(comparison.headline == "No difference beyond the noise")
        #expect(comparison.regressions == [] && comparison.warnings == [])
    }

    @Test func `a slower server is worse, and the faster one better`() {
        let worse = RunComparison(Self.calm, Self.slow), better = RunComparison(Self.slow, Self.calm)
        #expect(Self.judgement("response p50", worse) == .worse && Self.judgement("response p50", better) == .better)
        #expect(Self.judgement("answered", worse) == .withinNoise)
        #expect(worse.headline.hasPrefix("B is worse: response p50"))
        #expect(better.headline.hasPrefix("B is better: response p50"))
    }

    @Test func `fewer answers are worse`() throws {
        let comparison = RunComparison(Self.calm, SampleRun(perSecond: 200).result())
        #expect(Self.judgement("answered", comparison) == .worse)
        #expect(comparison.planDifferences.map(\.name) == ["rate"])
        #expect(comparison.planDifferences.first?.b == "200/s for 30 s")
        #expect(comparison.warnings.first?.contains("different plans (rate)") == true)
    }

    @Test func `an outage is named as few seconds`() {
        let comparison = RunComparison(Self.calm, SampleRun(outage: 15).result())
        #expect(Self.judgement("shed", comparison) == .fewSeconds)
        #expect(comparison.headline.hasPrefix("No lasting difference; in few seconds: "))
        #expect(comparison.regressions == [])
    }

    @Test func `the warm-up does not count`() {
        var cold = Self.twin
        for index in 0..<3 { cold.timeline[index].p50Ms = 5000 }
        #expect(RunComparison(Self.calm, cold).figures == RunComparison(Self.calm, Self.twin).figures)
        #expect(cold.measuredSeconds.map(\.second) == Array(0..<30))
        // Nor does the time after the end.
        cold.timeline.append(RunResult.Second(second: 33, failed: 100))
        cold.durationSeconds = 34
        #expect(cold.measuredSeconds.count == 30)
        cold.durationSeconds = 12.5
        #expect(cold.measuredSeconds.count == 12)
    }

    @Test func `short runs are not judged`() {
        let short = SampleRun(seconds: 5).result()
        let comparison = RunComparison(short, short)
        #expect(comparison.headline == "Too few seconds to tell: at least 20 are needed")
        #expect(Self.judgement("response p50", comparison) == .tooFewSeconds)
        #expect(RunComparison(SampleRun.empty, SampleRun.empty).figures.allSatisfy { $0.ratio == nil })
    }

    @Test func `every difference of plan and environment is named`() {
        var pear = Self.twin
        pear.plan = RunResult.Plan(
            url: "http://other", loop: .closed, arrival: .constant, warmupSeconds: 4, connections: 1, workers: 1,
            keys: 1,
            zipf: 0, seed: 99, timeoutMs: 1)
        pear.environment.cpu = "Other"
        pear.verdict = .generatorOverloaded
        let comparison = RunComparison(Self.calm, pear)
        #expect(
            comparison.planDifferences.map(\.name) == [
                "address", "loop", "arrivals", "rate", "connections", "distinct receipts", "Zipf exponent", "mix",
                "timeout",
                "warm-up",
            ])
        #expect(comparison.environmentDifferences.map(\.name) == ["processor"])
        #expect(comparison.warnings.last == "B's generator could not keep up: its numbers are about the generator.")
    }

    // MARK: - What is printed

    @Test func `the table has a line for each figure`() throws {
        let lines = RunComparison(Self.calm, Self.slow).text.split(separator: "\n")
        let p50 = try #require(lines.first { $0.contains("response p50 ms") })
        #expect(p50.hasSuffix("WORSE") && p50.contains(" to +"))
        #expect(lines.contains { $0.contains("slowest response ms") && $0.hasSuffix("not judged") })
    }

    @Test func `text of a third party cannot control the terminal`() {
        let text = RunComparison(Self.calm, SampleRun.saying("\u{1B}[2J\u{9B}2J\r")).text
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7F..<0xA0).contains($0.value) })
    }

    // MARK: - The command

    @Test func `a regression ends with 99 only where that was asked for`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "compare-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (a, b) = (folder.appending(path: "a.json").path, folder.appending(path: "b.json").path)
        try JSONOutput.of(Self.calm).write(toFile: a, atomically: true, encoding: .utf8)
        try JSONOutput.of(Self.slow).write(toFile: b, atomically: true, encoding: .utf8)
        try CompareCommand.parse([a, b, "-o", folder.appending(path: "page.html").path]).run()
        let page = try String(contentsOfFile: folder.appending(path: "page.html").path, encoding: .utf8)
        #expect(page.contains("<h1 class=\"bad\" id=\"verdict\">B is worse: response p50"))
        #expect(throws: ExitCode(99)) { try CompareCommand.parse([a, b, "--fail-on-regression"]).run() }
        try CompareCommand.parse([b, a, "--fail-on-regression", "--format", "json"]).run()
    }
}
