// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The pages in a real browser.
@Suite(.enabled(if: Browser.isInstalled, "chromium-headless-shell is missing: .ci/deps test installs it"))
struct BrowserTests {
    /// Returns the document of a page, whose numbers are the numbers of its JSON.
    private static func document(_ page: ReportPage, _ name: String = "") throws -> String {
        let html = try page.html(), visit = try Browser.visit(html), shown = PageValues(visit.document)
        let json = try JSONValue(parsing: Array(#require(PageValues.embedded(in: html)).utf8))
        #expect(visit.complaints == [], "\(name)")
        #expect(shown.faults(against: json) == [] && shown.values.count > 10, "\(name)")
        let document = try Self.shown(visit)
        #expect(document.firstMatch(of: #/(NaN|Infinity|undefined)/#)?.output.0 == nil, "\(name)")
        return document
    }

    /// Returns the document without the JSON and the script at its end.
    private static func shown(_ visit: Browser.Visit) throws -> String {
        String(visit.document[..<(try #require(visit.document.firstRange(of: "<script type")).lowerBound)])
    }

    @Test(arguments: ReportPageTests.samples.indices)
    func `a browser shows the numbers and plots of a run`(_ sample: Int) throws {
        let (name, result) = ReportPageTests.samples[sample]
        let document = try Self.document(result.page, name)
        #expect(document.ranges(of: "<data ").count > 20 && document.contains("<svg"), "\(name)")
        for id in ["latency-section", "outcomes", "generator", "plan", "environment"] {
            #expect(document.contains("<section id=\"\(id)\""), "\(name)")
        }
        let drawings = document.ranges(of: #"role="img""#).count
        #expect(drawings > 1 && document.matches(of: #/role="img" aria-label="[^"]+: [^"]*\."/#).count == drawings)
    }

    @Test func `a browser shows a comparison`() throws {
        let a = SampleRun(outage: 10).result(), b = SampleRun(seed: 2, slowness: 2, outage: 10).result()
        let document = try Self.document(RunComparison(a, b).page)
        #expect(document.contains(#"<span class="bad">✕ worse</span>"#) && document.contains(">kill redis</text>"))
        #expect(try Self.document(RunComparison(SampleRun().result(), b).page).contains(">B: kill redis</text>"))
    }

    @Test func `a browser shows a bench`() throws {
        var report = FigureReport(runs: 5, secondsPerRun: 4)
        report.figures = [MeasuredFigure("tail", 3.5, "ms", .atMost(2), note: "it was late")]
        report.measurements = [MeasuredFigure("hits", 40_589, "/s")]
        report.servers = [4, 32].map { connections in
            .init(
                name: .gateway, connections: connections, requestsPerSecond: 20_000, requestsPerBusySecond: 31_234,
                generatorCpuShare: 0.97)
        }
        let document = try Self.document(report.page)
        #expect(document.contains("it was late") && document.contains("✕ missed") && document.contains("40,589"))
    }

    @Test(arguments: [
        #"</script><script>document.title="taken"</script><img src=x onerror=alert(1)>"#, "\"' onload=alert(1) x='",
    ])
    func `text of a third party stays text`(_ text: String) throws {
        let result = SampleRun.saying(text)
        for page in [result.page, RunComparison(result, result).page] {
            let visit = try Browser.visit(page.html())
            #expect(visit.complaints == [])
            #expect(!visit.document.contains("<img") && !visit.document.contains("<title>taken"))
            #expect(visit.document.matches(of: #/<script[^>]*>/#).count == 2)
        }
    }

    @Test func `deceptive characters are shown as such`() throws {
        let document = try Self.shown(Browser.visit(SampleRun.saying("a\u{202E}b\u{7}c").page.html()))
        #expect(document.contains("a\u{FFFD}b\u{FFFD}c") && !document.unicodeScalars.contains("\u{202E}"))
    }

    /// The tests above rely on this.
    @Test func `a browser that had to refuse something says so`() throws {
        let page = try SampleRun(seconds: 1).result().page.html()
        let script = page.replacing("<main>", with: "<main><script>document.title='ran'</script>")
        let visit = try Browser.visit(script)
        #expect(visit.complaints.contains { $0.contains("Content Security Policy") })
        #expect(!visit.document.contains("<title>ran"))
    }

    @Test func `a browser knows the colours of the style sheet`() throws {
        let style = String(decoding: PackageResources.report_css, as: UTF8.self)
        let names = Set(style.matches(of: /(--[a-z0-9]+): #/).map { String($0.output.1) })
        #expect(names.count > 20)
        let script = """
            const known = getComputedStyle(document.documentElement)
            document.title = "unknown:" + \(Array(names).sorted()).filter((name) => !known.getPropertyValue(name))
            """
        let page = "<!doctype html><title></title><style>\(style)</style><script>\(script)</script>"
        #expect(try Browser.visit(page).document.contains("<title>unknown:</title>"))
    }

    @Test func `a day is drawn in steps, and its numbers are few enough to be read`() throws {
        var result = SampleRun(seconds: 60, warmup: 0).result()
        let minute = result.timeline
        result.timeline = (0..<86_400).map { second in
            var row = minute[second % 60]
            row.second = second
            return row
        }
        result.durationSeconds = 86_400
        result.metrics[0].points = (0..<86_400).map { RunResult.Point(x: Double($0), y: Double($0 * $0 % 977)) }
        let document = try Self.shown(Browser.visit(result.page.html()))
        #expect(document.utf8.count < 500_000)
        #expect(document.ranges(of: "Each step is the average of 300 seconds.").count == 2)
        #expect(document.ranges(of: "Each point is the worst of 300 seconds.").count == 2)
        #expect(document.contains("Each 1800 seconds: counts on average, latencies at their worst"))
    }

    @Test func `lines without room in a plot are counted`() throws {
        var result = SampleRun(seconds: 2).result()
        let point = RunResult.Point(x: 1, y: 1)
        result.metrics = (0..<12).map {
            RunResult.Series(name: "m", labels: ["i": "\($0)"], kind: .gauge, points: [point])
        }
        #expect(try Self.document(result.page).contains("2 more of these are in the JSON only."))
    }
}
