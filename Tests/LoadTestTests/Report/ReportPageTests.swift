// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing

@testable import LoadTest

struct ReportPageTests {
    static let samples: [(name: String, result: RunResult)] = [
        ("an ordinary run", SampleRun().result()), ("an outage", SampleRun(outage: 10).result()),
        ("a ramp", SampleRun(isRamp: true).result()), ("a closed loop", SampleRun(isClosed: true).result()),
        ("one second", SampleRun(seconds: 1, warmup: 0).result()), ("nothing at all", SampleRun.empty),
    ]

    @Test(arguments: samples.indices)
    func `the page has the whole result, and the same result makes the same page`(_ sample: Int) throws {
        let result = Self.samples[sample].result, html = try result.page.html()
        let embedded = try RunResultFile.read(Array(#require(PageValues.embedded(in: html)).utf8))
        #expect(try embedded == result && embedded.page.html() == html)
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
        let html = try result.page.html()
        let first = try #require(html.firstRange(of: "<h1 class=\"good\""))
        #expect(html[..<first.lowerBound].firstRange(of: "<section") == nil)
    }

    @Test func `viewers without scripts show the figures`() throws {
        let result = SampleRun(seconds: 3).result(), html = try result.page.html()
        let start = try #require(html.firstRange(of: "<noscript>")),
            end = try #require(html.firstRange(of: "</noscript>"))
        #expect(
            html[start.upperBound..<end.lowerBound].contains(
                RunText(result: result).text.replacing("<", with: "&lt;")))
    }

    @Test func `the page loads nothing and runs its own script only`() throws {
        let html = try SampleRun(outage: 5).result().page.html()
        #expect(html.contains("default-src 'none'; style-src 'sha256-") && html.contains("; script-src 'sha256-"))
        for way in [
            " src=", " href=", "@import", "url(", " onload", "javascript:", "<link", "<iframe", "<object", "{{",
        ] {
            #expect(!html.contains(way), "\(way)")
        }
        #expect(!html.contains("innerHTML") && html.ranges(of: "<script").count == 2)
    }

    private static let hostile = [
        #"</script><script>alert(1)</script>"#, #""><img src=x onerror="alert(1)">"#, "'--><!--", "&lt;b&gt;\u{202E}",
        "</style><style>*{display:none}</style>", "{{script}}", "\u{0}\u{1B}[31m", "]]>", "</noscript></pre>",
        // One character for Swift, and a tag for browsers.
        "\u{600}</script>\u{600}<b>",
    ]

    @Test(arguments: hostile)
    func `no text becomes part of the page`(_ text: String) throws {
        func elements(_ html: String) -> [String] {
            html.matches(of: #/<\/?([A-Za-z]+)/#.matchingSemantics(.unicodeScalar)).map { String($0.output.1) }
        }
        let html = try SampleRun.saying(text).page.html(), plain = try SampleRun.saying("a").page.html()
        #expect(elements(html) == elements(plain) && html.ranges(of: "<!--").count == 1)
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
            try String(contentsOfFile: folder.appending(path: "run.html").path, encoding: .utf8) == result.page.html())
        try JSONOutput.of(FigureReport(runs: 5, secondsPerRun: 4)).write(
            toFile: file, atomically: true, encoding: .utf8)
        try ReportCommand.parse([file, "-o", folder.appending(path: "other.html").path]).run()
        #expect(
            try String(contentsOfFile: folder.appending(path: "other.html").path, encoding: .utf8)
                .contains("Measured without targets"))
        #expect(throws: FileError.notWritable(path: "/nowhere/page.html")) {
            try ReportCommand.parse([file, "-o", "/nowhere/page.html"]).run()
        }
    }
}
