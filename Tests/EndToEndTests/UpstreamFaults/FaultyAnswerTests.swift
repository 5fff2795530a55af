// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

/// Answers that are invalid, or must not be trusted.
@Suite(.timeLimit(.patient)) struct FaultyAnswerTests {
    private var stage: Stage { .current }

    @Test(arguments: [
        ("reset", "upstream_reset"), ("reset_mid_body", "upstream_reset"), ("empty", "upstream_unusable_answer"),
        ("truncated", "upstream_unusable_answer"), ("html", "upstream_unusable_answer"),
        ("{http_status: 503}", "upstream_server_error"), ("{http_status: 410}", "upstream_request_refused"),
        ("{receipt_status: 21000}", "upstream_request_refused"), ("{receipt_status: 21005}", "upstream_unavailable"),
        ("{receipt_status: {status: 21104, is-retryable: 1}}", "upstream_unavailable"),
        ("{receipt_status: {status: 21199, is_retryable: false}}", "upstream_record_broken"),
        ("{receipt_status: {status: 21003, with_receipt: true}}", "upstream_disagrees"),
        ("wrong_environment", "upstream_contradiction"), ("{compressed: gzip}", "upstream_unusable_answer"),
        ("{compressed: deflate}", "upstream_unusable_answer"),
    ])
    func `a faulty answer is named, the client gets the local result, and the next answer counts again`(
        fault: String, reason: String
    ) async throws {
        try await withStage("faults: [{fault: \(fault)}]") { stage in
            let auto = try await stage.verify(Sample.receipt(0))
            #expect(auto.isLabelled(reason), "\(auto)")
            let apple = try await stage.verify(Sample.receipt(1), mode: "apple")
            #expect(apple.verdict == "undecided" && apple.degradedReasons == [reason], "\(apple)")
            #expect(try await stage.metric(#"degraded_total{reason="\#(reason)"}"#) == 2)
            try stage.play("")
            #expect(try await stage.verify(Sample.receipt(2)).isApples)
        }
    }

    @Test func `a slow answer is cut off at the deadline`() async throws {
        let limit = Patience.limitSetting
        let settings = ["GATEWAY_APPLE_SOFT_TIMEOUT": limit, "GATEWAY_APPLE_DEADLINE": limit]
        try await withStage("faults: [{fault: {slow_body: 100}}]", settings) { stage in
            #expect(try await stage.verify(Sample.receipt(0)).isLabelled)
            let apple = try await stage.verify(Sample.receipt(1), mode: "apple")
            #expect(apple.verdict == "undecided" && apple.degradedReasons == ["upstream_timeout"], "\(apple)")
        }
    }

    @Test func `endpoints that redirect a receipt to each other get one request each`() async throws {
        let scenario = """
            faults:
              - {endpoint: production, fault: {receipt_status: 21007}}
              - {endpoint: sandbox, fault: {receipt_status: 21008}}
            """
        try await withStage(scenario) { stage in
            let verdict = try await stage.verify(Sample.receipt(0))
            #expect(verdict.isLabelled("upstream_contradiction"), "\(verdict)")
            #expect(stage.apple.stats.production == 1 && stage.apple.stats.sandbox == 1)
        }
    }

    @Test func `a server without Apple's certificate gets no receipt`() async throws {
        let identity = Sample.tlsAuthority.identity(forHosts: ["127.0.0.1"])
        try await withStage("faults: [{fault: tls}]", tls: identity) { stage in
            let verdict = try await stage.verify(Sample.receipt(0))
            #expect(verdict.isLabelled("upstream_tls"), "\(verdict)")
            #expect(stage.apple.stats.production == 0 && stage.apple.stats.sandbox == 0)
            #expect(stage.apple.statsDetails.wrongCertificates == 1)
            #expect(try await stage.questions("tls") == 1)
            try stage.play("")
            #expect(try await stage.verify(Sample.receipt(0)).isApples)
        }
    }

    // MARK: - Lies

    @Test(arguments: [("expires_2099", "transaction_differs"), ("other_bundle_id", "other_app")])
    func `an answer that contradicts what Apple signed is refused`(lie: String, name: String) async throws {
        try await withStage("faults: [{fault: {tampered: \(lie)}}]") { stage in
            let auto = try await stage.verify(Sample.receipt(0))
            #expect(auto.isLabelled("upstream_contradiction") && auto.states == ["expired"], "\(auto)")
            let apple = try await stage.verify(Sample.receipt(0), mode: "apple")
            #expect(apple.verdict == "undecided" && apple.states == [], "\(apple)")
            #expect(try await stage.metric(#"upstream_contradictions_total{contradiction="\#(name)"}"#) == 2)
            #expect(stage.apple.statsDetails.outcomes["production"] == ["tampered": 2])
        }
    }

    @Test(arguments: [
        ("of_other_app", "latest_receipt_of_other_app"), ("older", "latest_receipt_older"),
    ])
    func `an answer with a receipt that Apple signed for another request is refused`(
        forgery: String, name: String
    ) async throws {
        try await withStage("faults: [{fault: {latest_receipt: \(forgery)}}]") { stage in
            let verdict = try await stage.verify(Sample.receipt(0))
            #expect(verdict.isLabelled("upstream_contradiction") && verdict.states == ["expired"], "\(verdict)")
            #expect(try await stage.metric(#"upstream_contradictions_total{contradiction="\#(name)"}"#) == 1)
        }
    }

    @Test(arguments: ["missing", "broken_base64", "junk", "signed_by_stranger"])
    func `an answer without a signature of Apple's is accepted, and counted`(forgery: String) async throws {
        try await withStage("faults: [{fault: {latest_receipt: \(forgery)}}]") { stage in
            let unproven = #"upstream_unproven_answers_total{api="verify_receipt",environment="production"}"#
            #expect(try await stage.verify(Sample.receipt(0)).isApples)
            #expect(try await stage.metric(unproven) == 1)
            try stage.play("")
            #expect(try await stage.verify(Sample.receipt(1)).isApples)
            #expect(try await stage.metric(unproven) == 1)
        }
    }

    @Test(.stage)
    func `a forged receipt is rejected and never reaches Apple, under every fault of Apple`() async throws {
        for (number, scenario) in try Self.scenarios().enumerated() {
            try stage.play(scenario)
            for mode in ["auto", "apple"] {
                let verdict = try await stage.verify(Sample.forged(number), mode: mode)
                #expect(verdict.verdict == "rejected" && verdict.reason == "anchor_untrusted", "\(verdict)")
                #expect(verdict.source == "local" && verdict.degradedReasons == [])
            }
        }
        #expect(stage.apple.statsDetails.outcomes == [:] && stage.apple.statsDetails.connections == 0)
        try stage.play("")
        #expect(try await stage.verify(Sample.receipt(0)).isApples)
        #expect(stage.apple.stats.production == 1)
    }

    /// Returns the scenarios of the repository, one for each fault, and one for each story.
    private static func scenarios() throws -> [String] {
        let folder = repositoryRoot.appending(path: "loadtest/scenarios")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "yaml" }
        let faults = [
            "none", "html", "empty", "truncated", "reset", "reset_mid_body", "no_answer", "tls", "wrong_environment",
            "{http_status: 503}", "{slow_body: 10}", "{throttled: 5000}", "{receipt_status: 21002}",
            "{receipt_status: {status: 21003, with_receipt: true}}", "{tampered: expires_2099}",
            "{tampered: other_bundle_id}", "{latest_receipt: junk}", "{latest_receipt: signed_by_stranger}",
            "{compressed: gzip}",
        ]
        let stories = ["renewed", "in_grace_period", "refunded", "upgraded", "family_shared", "ios6_style"]
        return try files.map { try String(contentsOf: $0, encoding: .utf8) }
            + faults.map { "faults: [{fault: \($0)}]" } + stories.map { "stories: {default: \($0)}" }
    }
}
