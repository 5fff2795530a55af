// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import JSON
import Testing

@testable import LoadTest

struct RunPageTests {
    static let samples: [(name: String, result: RunResult)] = [
        ("an ordinary run", SampleRun().result()), ("an outage", SampleRun(outage: 10).result()),
        ("a ramp", SampleRun(isRamp: true).result()), ("a closed loop", SampleRun(isClosed: true).result()),
        ("one second", SampleRun(seconds: 1, warmup: 0).result()), ("nothing at all", SampleRun.empty),
    ]

    @Test(arguments: samples.indices)
    func `every number on the page is the one in the JSON`(_ sample: Int) throws {
        let (name, result) = Self.samples[sample]
        let html = try RunPage(result).html()
        let values = PageValues(html)
        #expect(values.values.count > 20, "\(name)")
        #expect(try values.faults(against: JSONValue(parsing: Array(JSONOutput.of(result).utf8))) == [], "\(name)")
        let embedded = try #require(PageValues.embedded("result", in: html))
        #expect(try RunResultFile.read(Array(embedded.utf8)) == result, "\(name)")
    }

    @Test(arguments: samples.indices)
    func `the same result makes the same page`(_ sample: Int) throws {
        let result = Self.samples[sample].result
        #expect(try RunPage(result).html() == RunPage(RunResultFile.read(Array(JSONOutput.of(result).utf8))).html())
    }

    @Test(arguments: samples.indices)
    func `coordinates are numbers`(_ sample: Int) throws {
        let html = try RunPage(Self.samples[sample].result).html()
        #expect(html.firstMatch(of: #/["MLHV ]-?(nan|inf)/#)?.output.0 == nil)
        #expect(html.contains("<svg"))
    }

    @Test func `the verdict comes first, and says as much as is true`() throws {
        var result = SampleRun(seconds: 2).result()
        func headline() -> String { result.headline }
        #expect(headline() == "Passed: its threshold was met")
        result.thresholds += [RunResult.Threshold(expression: "p50<1ms", measured: 2, unit: "ms", met: false)]
        result.verdict = .thresholdMissed
        #expect(headline() == "Failed: 1 of 2 thresholds missed")
        result.verdict = .generatorOverloaded
        #expect(headline() == "No verdict: the generator could not keep up")
        (result.verdict, result.durationSeconds) = (.interrupted, 1.234)
        #expect(headline() == "Interrupted after 1.23 seconds")
        (result.verdict, result.thresholds) = (.passed, [])
        #expect(headline() == "Passed: it had no threshold")
        let html = try RunPage(result).html()
        let first = try #require(html.firstRange(of: "<h1"))
        #expect(html[..<first.lowerBound].firstRange(of: "<section") == nil)
    }

    // MARK: - Results of third parties

    private static let hostile = [
        #"</script><script>alert(1)</script>"#, #""><img src=x onerror="alert(1)">"#, "'--><!--", "&lt;b&gt;\u{202E}",
        "</style><style>*{display:none}</style>", "url(http://example.com/)", "\u{0}\u{1B}[31m", "]]>",
    ]

    @Test(arguments: hostile)
    func `no text becomes part of the page`(_ text: String) throws {
        let html = try RunPage(SampleRun.saying(text)).html()
        let plain = try RunPage(SampleRun.saying("a")).html()
        #expect(Self.elements(of: html) == Self.elements(of: plain))
        #expect(html.ranges(of: "</script>").count == 1 && html.ranges(of: "</style>").count == 1)
        let embedded = try #require(PageValues.embedded("result", in: html))
        #expect(try RunResultFile.read(Array(embedded.utf8)) == SampleRun.saying(text))
    }

    /// Returns the number of each element.
    private static func elements(of html: String) -> [Substring: Int] {
        html.matches(of: #/<([a-z!\/-]+)/#).reduce(into: [:]) { $0[$1.output.1, default: 0] += 1 }
    }

    @Test func `the page loads nothing and runs nothing`() throws {
        let html = try RunPage(SampleRun(outage: 5).result()).html()
        #expect(html.contains("default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"))
        for way in [" src=", " href=", "@import", "url(", " onload", "javascript:", "<link", "<iframe", "<object"] {
            #expect(!html.contains(way), "\(way)")
        }
        let scripts = html.matches(of: /<script[^>]*>/).map { String($0.output) }
        #expect(scripts == [#"<script type="application/json" id="result">"#])
    }

    // MARK: - Long runs

    @Test func `the page of a day is no larger than that of ten minutes, but for its JSON`() throws {
        var result = SampleRun(seconds: 60, warmup: 0).result()
        let minute = result.timeline
        result.timeline = (0..<86_400).map { second in
            var row = minute[second % 60]
            row.second = second
            return row
        }
        result.durationSeconds = 86_400
        result.metrics[0].points = (0..<86_400).map { RunResult.Point(x: Double($0), y: Double($0 * $0 % 977)) }
        let html = try RunPage(result).html()
        let json = try #require(PageValues.embedded("result", in: html))
        #expect(html.utf8.count - json.utf8.count < 400_000)
        #expect(html.ranges(of: "the average of 300 seconds").count == 2)
        #expect(html.ranges(of: "the worst of 300 seconds").count == 2)
    }

    @Test func `what has no room on the page is counted`() throws {
        var result = SampleRun(seconds: 2).result()
        let point = RunResult.Point(x: 1, y: 1)
        result.metrics = (0..<30).flatMap { name in
            (0..<10).map { RunResult.Series(name: "m\(name)", labels: ["i": "\($0)"], kind: .gauge, points: [point]) }
        }
        let html = try RunPage(result).html()
        #expect(html.contains("6 more metrics are in the JSON only."))
        #expect(html.ranges(of: "2 more of these are in the JSON only.").count == 24)
    }

    @Test func `every drawing has a title and a description of its own`() throws {
        let html = try RunPage(SampleRun(outage: 5).result()).html()
        let names = html.matches(of: #/aria-labelledby="(\S+-title) (\S+-desc)"/#)
        #expect(names.count > 10 && names.count == html.ranges(of: #"role="img""#).count)
        for name in names {
            #expect(html.ranges(of: "<title id=\"\(name.output.1)\">").count == 1)
            #expect(html.ranges(of: "<desc id=\"\(name.output.2)\">").count == 1)
        }
        #expect(!html.contains("></title>") && !html.contains("></desc>"))
    }

    @Test(arguments: [0, 1e-9, 9e15])
    func `numbers at their limits make a page`(_ number: Double) throws {
        let result = SampleRun(seconds: 30, warmup: 0, perSecond: 20).result().with(number)
        #expect(try RunResultFile.read(Array(JSONOutput.of(result).utf8)) == result)
        let html = try RunPage(result).html()
        #expect(html.utf8.count < 1_000_000)
        #expect(html.firstMatch(of: #/["MLHV ]-?(nan|inf)/#)?.output.0 == nil)
        #expect(try ComparePage(comparison: RunComparison(result, SampleRun().result())).html().contains("</html>"))
    }

    // MARK: - The command

    @Test func `the command writes a page beside the result`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "run.json").path
        let result = SampleRun(seconds: 2).result()
        try JSONOutput.of(result).write(toFile: file, atomically: true, encoding: .utf8)
        try ReportCommand.parse([file]).run()
        #expect(
            try String(contentsOfFile: folder.appending(path: "run.html").path, encoding: .utf8)
                == RunPage(result).html())
        try ReportCommand.parse([file, "-o", folder.appending(path: "other.html").path]).run()
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "other.html").path))
        #expect(throws: FileError.notWritable(path: "/nowhere/page.html")) {
            try ReportCommand.parse([file, "-o", "/nowhere/page.html"]).run()
        }
    }
}

extension RunResult {
    /// With the same number wherever it fits.
    fileprivate func with(_ number: Double) -> RunResult {
        var result = self
        let count = Int(number)
        result.durationSeconds = number
        result.plan.warmupSeconds = number
        result.plan.stages = [Stage(fromPerSecond: number, toPerSecond: number, seconds: number)]
        result.totals = Totals(
            intended: count, sent: count, answered: count, failed: count, shed: count, unanswered: count,
            targetPerSecond: number, achievedPerSecond: number, sentBytes: count, receivedBytes: count)
        (result.response.p50, result.response.maximum, result.service.p99) = (number, number, number)
        result.response.percentiles = [Point(x: 50, y: number), Point(x: 100, y: number)]
        result.outcomes = Array(repeating: RunResult.Outcome(outcome: "x", count: count, response: response), count: 64)
        (result.generator.cpuSeconds, result.generator.cpuShare) = (number, number)
        result.marks = [Mark(atSeconds: number, text: "mark")]
        for kind in [Series.Kind.gauge, .counter] {
            result.metrics.append(
                Series(name: "m", kind: kind, points: [Point(x: 1e-9, y: -number), Point(x: 2e-9, y: number)]))
        }
        for index in result.timeline.indices {
            result.timeline[index].answered = count
            result.timeline[index].outcomes = ["x": count]
            (result.timeline[index].p99, result.timeline[index].target) = (number, number)
        }
        return result
    }
}
