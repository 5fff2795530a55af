// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import Gateway
import HTTPTypes
import Receipts
import Testing

@testable import Operations
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("The status page")
struct StatusPageTests {
    private static func page(_ change: (inout GatewayConfiguration) -> Void = { _ in }) throws -> StatusPage {
        StatusBoard(try StatusSample(change).sources).page
    }

    @Test func `each value has one element with its text`() throws {
        let page = try Self.page()
        // Foundation's search: the one of the standard library takes a minute for this page in a debug build.
        let html = page.html.replacingOccurrences(of: "&lt;", with: "<")
        let cells = page.report.tables.flatMap(\.cells)
        #expect(cells.count > 70)
        #expect(Set(cells.map(\.identifier)).count == cells.count)
        for (identifier, cell) in cells {
            let location = "<td id=\"\(identifier)\" data-tone=\"\(cell.tone.rawValue)\">\(cell.value.text)</td>"
            #expect(html.components(separatedBy: location).count == 2, "\(identifier)")
        }
        let identifiers = page.html.matches(of: #/ id="([^"]+)"/#).map { String($0.output.1) }
        #expect(Set(identifiers).count == identifiers.count)
    }

    @Test func `the configuration is the output of check-config, and text is escaped`() throws {
        let hostile = #"/tmp/</pre></script><script>alert("1")</script>&amp;"#
        let page = try Self.page { configuration in
            configuration.clientsFile = hostile
            configuration.apiKeyPepper = Secret("sixteen characters and more")
        }
        let html = page.html
        #expect(html.ranges(of: "<script").count == 2 && html.ranges(of: "</script>").count == 2)
        #expect(html.contains("&lt;/pre&gt;&lt;/script&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"))
        #expect(html.contains("gateway.api_key_pepper: &lt;redacted&gt;"))
        let marked = try Self.page { $0.clientsFile = "/tmp/\u{d4e}<b id=x\u{600}>" }
        #expect(marked.html.unicodeScalars.firstRange(of: "<b id".unicodeScalars) == nil)
        #expect(!html.contains("sixteen characters"))
        var configuration = GatewayConfiguration()
        configuration.clientsFile = hostile
        configuration.apiKeyPepper = Secret("sixteen characters and more")
        #expect(page.configurationText == configuration.effectiveText)
    }

    @Test func `the policy allows only this style and script, and the page needs no more`() throws {
        let html = try Self.page().html
        let policy: String = StatusPage.headers[.contentSecurityPolicy] ?? ""
        #expect(policy.hasPrefix("default-src 'none'; "))
        #expect(policy.matches(of: /'sha256-[A-Za-z0-9+\/]{43}='/).count == 2)
        for word in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"] {
            #expect(!policy.contains(word), "\(word)")
        }
        #expect(html.firstMatch(of: #/ (on[a-z]+|style|src)=/#) == nil)
        #expect(StatusPage.headers[.cacheControl] == "no-store")
        #expect(StatusPage.headers[.setCookie] == nil)
    }

    @Test func `the page is complete without its script`() throws {
        let html = try Self.page().html
        #expect(html.contains("<h2 id=\"word\">Healthy</h2>"))
        #expect(html.contains("<noscript>"))
        #expect(html.ranges(of: "<table>").count == html.ranges(of: "<caption").count)
        #expect(html.contains("<button type=\"button\" id=\"pause\" aria-pressed=\"false\" hidden>"))
    }

    @Test(arguments: [(false, 2), (true, 4)])
    func `the Server API has columns and a table if there is a key`(hasKey: Bool, columns: Int) throws {
        let page = StatusBoard(try StatusSample(hasServerAPIKey: hasKey).sources).page
        let tables = Dictionary(uniqueKeysWithValues: page.report.tables.map { ($0.heading.name, $0) })
        let names = try #require(tables["apple"]).columns.map(\.name)
        #expect(names.prefix(2) == ["production", "sandbox"] && names.count == columns)
        #expect(tables["apple"]?.rows.allSatisfy { $0.cells.count == columns } == true)
        #expect((tables["server_api"] != nil) == hasKey)
        #expect(tables["sunset"]?.columns.count == 2, "only verifyReceipt ends")
        let identifiers = page.report.tables.flatMap(\.cells).map(\.identifier)
        #expect(Set(identifiers).count == identifiers.count)
        #expect(identifiers.contains("apple.server_api_sandbox.breaker") == hasKey)
    }

    @Test func `answers about receipts are shown by source, and apps without a key with their names`() throws {
        let sample = try StatusSample(appsWithoutKey: (1...7).map { "com.example.app\($0)" })
        let board = StatusBoard(sample.sources)
        for (source, times) in [(.local, 1), (.apple, 2), (.serverAPI, 5)] as [(Provenance.Source, Int64)] {
            sample.count(MetricCatalogue.receiptAnswers, source, times: times)
        }
        board.tick()
        let cells = board.cells.mapValues(\.value)
        #expect(cells["receipts.answers"] == .count(8))
        #expect(cells["receipts.server_api_share"] == .share(0.625))
        #expect(cells["receipts.verify_receipt_share"] == .share(0.25))
        #expect(cells["receipts.receipt_share"] == .share(0.125))
        #expect(cells["receipts.apps_without_key"]?.text.hasSuffix("com.example.app5 and 2 more") == true)
        let receipts = try #require(board.members["receipts"] as? [String: Any])
        #expect(receipts["server_api_share"] as? Double == 0.625)
        #expect((receipts["apps_without_key"] as? [String])?.count == 7)
    }

    @Test(arguments: [(nil, "plain"), (91, "plain"), (90, "notable"), (-1, "notable")])
    func `apps without a key stand out once the end is near`(days: Int?, tone: String) throws {
        let sample = try StatusSample(appsWithoutKey: ["com.example.shop"]) { configuration in
            configuration.apple.sunset = days.map { StatusSample.now.advanced(by: .seconds($0 * 86_400)) }
        }
        let html = StatusBoard(sample.sources).page.html
        let cell = "<td id=\"receipts.apps_without_key\" data-tone=\"\(tone)\">com.example.shop</td>"
        #expect(html.contains(cell))
    }

    @Test func `each count and timing has a position of its own`() {
        #expect(StatusCount.allCases.map(\.position) == Array(StatusCount.allCases.indices))
        #expect(StatusTiming.allCases.map(\.position) == Array(StatusTiming.allCases.indices))
    }

    @Test func `status.json has a member for each table`() throws {
        let board = StatusBoard(try StatusSample().sources), json = board.members
        #expect(json["verdict"] as? String == "healthy")
        for name in board.tableNames { #expect(json[name] is [String: Any], "\(name)") }
        let history = try #require(json["history"] as? [String: Any])
        #expect((history["columns"] as? [String])?.count == 1 + StatusPlot.all.flatMap(\.lines).count)
        let apple = try #require(json["apple"] as? [String: [String: Any]])
        #expect(apple["sandbox"]?["breaker"] as? String == "closed")
    }
}
