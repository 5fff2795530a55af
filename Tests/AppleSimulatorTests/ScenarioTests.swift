// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import AppleSimulator

/// The meaning of scenario files, and their faults.
struct ScenarioTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "loadtest/scenarios")

    private static let examples = ["all.yaml", "outage-2020-01-24.yaml", "quiet.yaml", "sunset.yaml", "throttled.yaml"]

    private static func example(_ name: String) throws -> Scenario {
        try Scenario(yaml: String(contentsOf: folder.appending(path: name), encoding: .utf8))
    }

    @Test(arguments: examples)
    func `every example is a valid scenario`(name: String) throws {
        #expect(try !Self.example(name).phases.isEmpty)
    }

    @Test func `no example is untested`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(names.filter { $0.hasSuffix(".yaml") }.sorted() == Self.examples)
    }

    @Test func `the example with every name has every fault and story`() throws {
        let scenario = try Self.example("all.yaml")
        let faults = scenario.phases.compactMap(\.fault)
        #expect(faults.count == 27 && Set(faults).count == 27)
        let retryable = ServerFault.ReceiptStatus(
            status: 21104, retryable: .init(name: "is-retryable", literal: "1"))
        #expect(faults.contains(.receiptStatus(retryable)))
        #expect(faults.contains(.receiptStatus(.init(status: 21003, hasReceipt: true))))
        #expect(Set(scenario.stories.rules.map(\.story)).count == 15)
        #expect(scenario.sharedSecret?.count == 32 && scenario.seed == 7)
        #expect(scenario.serverAPILimitShare == 1 && scenario.clockSkewSeconds == 0)
        #expect(scenario.unreleasedApps == ["com.example.beta"] && scenario.unknownApps == ["com.example.gone"])
        #expect(faults.contains(.serverAPIError(5_000_001)) && scenario.phases.contains { $0.api == .verifyReceipt })
    }

    @Test func `on 24 January 2020 almost half of the calls fail at first, and all are pages later`() throws {
        let clock = ManualClock()
        var state = ScenarioState(try Self.example("outage-2020-01-24.yaml"), startingAt: clock.now)
        let failures = (0..<2000).filter { _ in state.effects(at: .production, clock.now).fault != nil }
        #expect((800...1000).contains(failures.count))
        clock.advance(bySeconds: 60)
        let later = state.effects(at: .sandbox, clock.now)
        clock.advance(bySeconds: 180)
        let atLast = state.effects(at: .production, clock.now)
        #expect(later.fault == .html && atLast.fault == nil)
    }

    @Test func `an empty text is a scenario without faults`() throws {
        #expect(try Scenario(yaml: "# nothing\n") == .healthy)
    }

    @Test(arguments: [
        (
            "sed: 1", 1,
            "'sed' is unknown here; known are seed, shared_secret, reissue_seconds, clock_skew_seconds, "
                + "server_api_limits, unreleased_apps, unknown_apps, stories, faults"
        ),
        ("server_api_limits: 1", 1, "'server_api_limits' takes true or false"),
        ("server_api_limits: {share: 2}", 1, "'share' takes a number from 0.0 to 1.0"),
        ("clock_skew_seconds: 86401", 1, "'clock_skew_seconds' takes a number"),
        ("unreleased_apps: a", 1, "'unreleased_apps' takes a list"),
        ("faults: [{fault: html, api: both}]", 1, "'api' takes verify_receipt, server_api"),
        (
            "faults: [{fault: {receipt_status: 21005}, api: server_api}]", 1,
            "'api: server_api' and 'fault' cannot be combined"
        ),
        ("faults: [{fault: {server_api_error: 21005}}]", 1, "'server_api_error' takes a whole number"),
        ("\nfaults:\n  - {fault: html}\n  - {fault: html, shar: 1}", 4, "'shar' is unknown here"),
        ("faults: [{fault: {htlm: 1}}]", 1, "'htlm' is unknown here"),
        ("faults: [{fault: {html: 1}}]", 1, "'html' takes no value"),
        ("faults: [{fault: http_status}]", 1, "'http_status' takes a value"),
        ("faults: [{fault: {http_status: 200}}]", 1, "'http_status' takes a whole number from 400 to 599"),
        ("faults: [{fault: {slow_body: 0}}]", 1, "'slow_body' takes a whole number from 1"),
        ("faults: [{fault: {receipt_status: 21200}}]", 1, "'receipt_status' takes"),
        ("faults: [{fault: {receipt_status: {is_retryable: 1}}}]", 1, "'status' is missing"),
        (
            "faults: [{fault: {receipt_status: {status: 21100, is_retryable: yes}}}]", 1,
            "'is_retryable' takes true, false, 1, 0"
        ),
        (
            "faults: [{fault: {receipt_status: {status: 21100, is_retryable: 1, is-retryable: 1}}}]", 1,
            "'is_retryable' and 'is-retryable'"
        ),
        ("faults: [{fault: {tampered: all}}]", 1, "'tampered' takes expires_2099, other_bundle_id"),
        ("faults: [{sunset_in: soon}]", 1, "'sunset_in' takes days or seconds such as 20d, 12s or -1d"),
        ("faults: [{sunset_in: 9999999d}]", 1, "'sunset_in' takes"),
        ("faults: [{share: 0.5}]", 1, "'fault, latency, headers or sunset_in' is missing"),
        ("faults: [{share: 1.5, fault: html}]", 1, "'share' takes a number from 0.0 to 1.0"),
        ("faults: [{from: 5, to: 4, fault: html}]", 1, "'to' takes a time after 'from'"),
        ("faults: [{to: 5, for: 4, fault: html}]", 1, "'to' and 'for' cannot be combined"),
        ("faults: [{endpoint: both, fault: html}]", 1, "'endpoint' takes production, sandbox"),
        ("faults: [{latency: 601}]", 1, "'latency' takes a number from 0.0 to 600.0"),
        ("faults: [{latency: {uniform: [2, 1]}}]", 1, "'uniform' takes two numbers"),
        ("faults: [{latency: {lognormal: {median: 1, sigma: 1}}}]", 1, "'cap' is missing"),
        ("faults: [{headers: {Content-Length: 7}}]", 1, "'headers' takes names of fields that do not frame the answer"),
        ("faults: [{headers: {\"A B\": 7}}]", 1, "'headers' takes names"),
        ("faults: [{headers: {Sunset: \"a\\r\\nb\"}}]", 1, "'Sunset' takes one line of ASCII"),
        ("faults: html", 1, "'faults' takes a list"),
        ("stories: {default: renewd}", 1, "'renewd' is unknown here"),
        ("stories: {default: {renewed: 1}}", 1, "'renewed' takes no value"),
        ("stories: {default: {expired: 6}}", 1, "'expired' takes a whole number from 1 to 5"),
        ("stories: {rules: [{story: renewed}]}", 1, "'product_id_suffix or original_transaction_ids' is missing"),
        (
            "stories: {rules: [{product_id_suffix: a, original_transaction_ids: [b], story: vpp}]}", 1,
            "'product_id_suffix' and"
        ),
        ("seed: 1\nseed: 2", 1, "not valid YAML: the same name twice: seed"),
        ("a: [", 2, "not valid YAML"),
        ("[]", 1, "'scenario' takes"),
    ])
    func `a fault is named with its line`(yaml: String, line: Int, text: String) {
        let error = #expect(throws: ScenarioError.self) { try Scenario(yaml: yaml) }
        #expect(error?.line == line)
        #expect(error?.description.hasPrefix("line \(line): \(text)") == true, "\(error?.description ?? "")")
    }

    @Test func `an error contains no secret`() {
        let error = #expect(throws: ScenarioError.self) { try Scenario(yaml: "shared_secret: [hunter2]") }
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func `a scenario over the limits is refused`() throws {
        var limits = SimulatorLimits()
        (limits.maximumScenarioBytes, limits.maximumPhases) = (60, 2)
        let two = "faults: [{fault: html}, {fault: reset}]"
        #expect(
            try Scenario(yaml: two + String(repeating: " ", count: 60 - two.utf8.count), limits: limits).phases.count
                == 2)
        #expect(throws: ScenarioError(line: nil, fault: .tooLarge(maximumBytes: 60))) {
            try Scenario(yaml: two + String(repeating: " ", count: 61 - two.utf8.count), limits: limits)
        }
        #expect(throws: ScenarioError(line: 1, fault: .tooManyPhases(maximum: 2))) {
            try Scenario(yaml: "faults: [{fault: html},{fault: html},{fault: html}]", limits: limits)
        }
    }
}
