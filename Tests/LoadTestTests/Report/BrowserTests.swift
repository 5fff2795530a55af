// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import JSON
import RealServers
import Testing

@testable import LoadTest

/// The pages in a real browser.
@Suite(.enabled(if: Browser.isInstalled, "chromium-headless-shell is missing: .ci/deps test installs it"))
struct BrowserTests {
    @Test(arguments: RunPageTests.samples.indices)
    func `a browser reports no fault and shows the numbers of the JSON`(_ sample: Int) throws {
        let (name, result) = RunPageTests.samples[sample]
        let page = try RunPage(result).html()
        let visit = try Browser.visit(page)
        #expect(visit.complaints == [], "\(name)")
        let shown = PageValues(visit.document)
        #expect(shown.values.count == PageValues(page).values.count && shown.values.count > 20, "\(name)")
        #expect(try shown.faults(against: JSONValue(parsing: Array(JSONOutput.of(result).utf8))) == [], "\(name)")
        let embedded = try #require(PageValues.embedded("result", in: visit.document))
        #expect(try RunResultFile.read(Array(embedded.utf8)) == result, "\(name)")
    }

    @Test func `a browser shows a comparison`() throws {
        let comparison = RunComparison(SampleRun().result(), SampleRun(seed: 2, slowness: 2).result())
        let visit = try Browser.visit(ComparePage(comparison: comparison).html())
        #expect(visit.complaints == [])
        let json = try JSONValue(parsing: Array(JSONOutput.of(ComparisonReport(comparison)).utf8))
        #expect(PageValues(visit.document).values.count > 20)
        #expect(PageValues(visit.document).faults(against: json) == [])
    }

    @Test(arguments: [
        #"</script><script>document.title="taken"</script><img src=x onerror=alert(1)>"#, "\"' onload=alert(1) x='",
    ])
    func `text of a third party stays text`(_ text: String) throws {
        let visit = try Browser.visit(RunPage(SampleRun.saying(text)).html())
        #expect(visit.complaints == [])
        #expect(!visit.document.contains("<img") && !visit.document.contains("<title>taken"))
        #expect(visit.document.ranges(of: "<script").count == 1)
    }

    /// The tests above rely on this.
    @Test func `a browser that had to refuse something says so`() throws {
        let page = try RunPage(SampleRun(seconds: 1).result()).html()
        let script = page.replacing("<main>", with: "<main><script>document.title='ran'</script>")
        let visit = try Browser.visit(script)
        #expect(visit.complaints.contains { $0.contains("Content Security Policy") })
        #expect(!visit.document.contains("<title>ran"))
    }
}
