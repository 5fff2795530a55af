// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Gateway
import Receipts
import Testing

@testable import Clients
@testable import Operations
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Results of comparisons in the command, on the status page and in metrics.
struct ComparisonReportTests {
    typealias Samples = ComparisonSamples

    private static let tally = Samples.tally {
        ($0.compared, $0.equal, $0.unanswered) = (10_000, 9993, 12)
        $0.kinds[Samples.renewed] = .init(count: 2, examples: [Samples.example(), Samples.example("yearly")])
        $0.kinds[Samples.missing] = .init(count: 5)
    }

    // MARK: - The command

    @Test func `the text says how many were equal, and lists the kinds with examples`() {
        let report = ComparisonListing([.localAndApple: Self.tally], by: ComparisonRules(), at: Samples.now)
        let lines = report.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(
            lines == [
                "local_apple, since 2026-11-15: of 10,000 compared, 9,993 equal; 2 kinds of difference. "
                    + "12 more had no answer of the other source.",
                "FIELD ANSWER OTHER SOURCE COUNT EXAMPLE APP PRODUCT EVIDENCE APART OFF BY",
                "transaction present absent 5 - - - - - -",
                "state active expired 2 2026-11-21T12:00:00Z com.example.shop monthly Production app_receipt 7s -3600s",
                "2026-11-21T12:00:00Z com.example.shop yearly Production app_receipt 7s -3600s",
            ])
    }

    @Test func `without differences and without results the text says so`() {
        let equal = Samples.tally { ($0.compared, $0.equal) = (1, 1) }
        let report = ComparisonListing([.verifyReceiptAndServerAPI: equal], by: ComparisonRules(), at: Samples.now)
        #expect(report.text.hasPrefix("verify_receipt_server_api, since 2026-11-15: of 1 compared, 1 equal; no diff"))
        #expect(!report.text.contains("FIELD"))
        let none = ComparisonListing([:], by: ComparisonRules(), at: Samples.now)
        #expect(none.json.hasSuffix(#""pairs":[]}"#))
    }

    @Test func `without results the text says which setting is missing, or what counts`() {
        func text(_ mode: ComparisonMode, share: Double = 0.01) -> String {
            var rules = ComparisonRules()
            (rules.mode, rules.share) = (mode, share)
            return ComparisonListing([:], by: rules, at: Samples.now).text
        }
        let none = "No answer was compared since 2026-11-15."
        #expect(text(.off) == "\(none) Set gateway.comparison.mode.")
        #expect(text(.both, share: 0) == "\(none) Set gateway.comparison.share above 0.")
        let set = text(.localAndApple)
        #expect(set.hasPrefix("\(none) gateway.comparison.mode is local_apple, and share 0.01,"), "\(set)")
        #expect(set.contains("Only new answers about evidence count") && !set.contains("Set "), "\(set)")
    }

    @Test func `the JSON has every number and example`() throws {
        let report = ComparisonListing([.localAndApple: Self.tally], by: ComparisonRules(), at: Samples.now)
        let json = try #require(report.json.jsonMembers)
        let pair = try #require((json["pairs"] as? [[String: Any]])?.first)
        #expect(json["since"] as? String == "2026-11-15T00:00:00Z" && pair["pair"] as? String == "local_apple")
        #expect(pair["compared"] as? Int == 10_000 && pair["equal"] as? Int == 9993 && pair["unanswered"] as? Int == 12)
        let differences = try #require(pair["differences"] as? [[String: Any]])
        #expect(differences.map { $0["count"] as? Int } == [5, 2])
        #expect(differences[1]["field"] as? String == "state" && differences[1]["answer"] as? String == "active")
        let example = try #require((differences[1]["examples"] as? [[String: Any]])?.first)
        #expect(example["off_by_seconds"] as? Int == -3600 && example["seconds_apart"] as? Int == 7)
        #expect(example["evidence"] as? String == "app_receipt" && example["product_id"] as? String == "monthly")
    }

    // MARK: - The status page

    @Test func `the status page has a table for each pair with results`() throws {
        #expect(try Self.cells([:]).keys.allSatisfy { !$0.hasPrefix("comparison") })
        let cells = try Self.cells([.localAndApple: Self.tally])
        #expect(cells["comparison_local_apple.compared"]?.value == .count(10_000))
        #expect(cells["comparison_local_apple.equal"]?.value == .count(9993))
        #expect(cells["comparison_local_apple.different"] == .init(.count(7), .notable))
        #expect(cells["comparison_local_apple.unanswered"]?.value == .count(12))
        #expect(cells["comparison_local_apple.kinds"]?.value == .count(2))
        #expect(cells["comparison_local_apple.state:active:expired"]?.value == .count(2))
        #expect(cells.keys.allSatisfy { !$0.hasPrefix("comparison_verify_receipt") })
    }

    private static func cells(_ tallies: [ComparisonPair: ComparisonTally]) throws -> [String: StatusTable.Cell] {
        let sample = try StatusSample(comparisons: tallies)
        let tables = StatusBoard(sample.sources).page.report.tables
        return Dictionary(uniqueKeysWithValues: tables.flatMap(\.cells).map { ($0, $1) })
    }

    // MARK: - Metrics

    @Test func `comparisons and differing fields are counted`() throws {
        let registry = try PrometheusRegistry(MetricCatalogue.all), metrics = ComparisonMetrics(registry)
        #expect(!registry.text().contains("comparisons_total{"))
        for event in [
            .compared(.localAndApple, differences: []), .compared(.localAndApple, differences: [.state, .expiresDate]),
            .skipped(.localAndApple, .overBudget), .unstored(.verifyReceiptAndServerAPI),
        ] as [ComparisonEvent] { metrics.observe(event) }
        let text = registry.text()
        for line in [
            #"comparisons_total{pair="local_apple",outcome="equal"} 1"#,
            #"comparisons_total{pair="local_apple",outcome="different"} 1"#,
            #"comparisons_total{pair="local_apple",outcome="over_budget"} 1"#,
            #"comparisons_total{pair="verify_receipt_server_api",outcome="unstored"} 1"#,
            #"comparison_differences_total{pair="local_apple",field="state"} 1"#,
            #"comparison_differences_total{pair="local_apple",field="expires_date"} 1"#,
            "prometheus_export_undeclared_total 0",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
    }

    // MARK: - Settings

    @Test(arguments: [(true, false), (false, true)])
    func `comparisons need requests to Apple`(isEnabled: Bool, isProblem: Bool) {
        var configuration = GatewayConfiguration()
        (configuration.comparison.mode, configuration.apple.isEnabled) = (.both, isEnabled)
        let problems = configuration.contradictions.filter { $0.location == "gateway.comparison.mode" }
        #expect(problems.isEmpty != isProblem)
        #expect(problems.allSatisfy { $0.fault.hasPrefix("is both, and gateway.apple.enabled is false") })
    }

    @Test(arguments: ComparisonMode.allCases)
    func `a mode that needs a key warns if no app has one`(mode: ComparisonMode) {
        var configuration = GatewayConfiguration()
        configuration.comparison.mode = mode
        let warned = configuration.startFaults(AccessRules()).contains { $0.seen.contains("gateway.comparison.mode") }
        #expect(warned == (mode == .both || mode == .verifyReceiptAndServerAPI))
    }

    @Test(arguments: ComparisonMode.allCases)
    func `a mode that needs a shared secret warns if there is none`(mode: ComparisonMode) {
        var configuration = GatewayConfiguration()
        configuration.comparison.mode = mode
        var rules = AccessRules(serverAPIKeys: ServerAPIKeys(account: ServerAPIKeyFixture.key))
        let fault = configuration.comparisonFault(rules)
        #expect((fault != nil) == (mode == .both || mode == .verifyReceiptAndServerAPI))
        #expect(fault.map { $0.seen.contains("no app has a shared secret") } ?? true)
        rules.secrets.ofApps["com.example.shop"] = Secret("of-this-app-alone")
        #expect(configuration.comparisonFault(rules) == nil)
    }

    @Test func `every mode has its pairs`() {
        #expect(
            ComparisonMode.allCases.map(\.rawValue) == ["none", "local_apple", "verify_receipt_server_api", "both"])
        #expect(ComparisonMode.allCases.map(\.pairs.count) == [0, 1, 1, 2])
    }
}
