// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import LoopbackPorts
import Testing
import TestSupport

/// Outages of Apple, for minutes or hours.
@Suite(.timeLimit(.patient)) struct OutageTests {
    private var stage: Stage { .current }
    private static let closed = #"circuit_breaker_state{api="verify_receipt",environment="production",state="closed"}"#

    @Test func `a gateway starts without Apple, answers meanwhile, and finds Apple by itself`() async throws {
        let ports = (production: try ReservedPort(), sandbox: try ReservedPort())
        func url(_ port: ReservedPort) -> String { "http://127.0.0.1:\(port.number)/verifyReceipt" }
        let urls = (url(ports.production), url(ports.sandbox))
        try await withGateway(askingAt: urls) { gateway in
            #expect(try await gateway.get("/readyz", port: gateway.adminPort).status == 200)
            let auto = try await Verdict(gateway.verify(Sample.receipt(0)).json)
            #expect(auto.isLabelled("upstream_unreachable"), "\(auto)")
            let apple = try await Verdict(gateway.verify(Sample.receipt(0), ["mode": "apple"]).json)
            #expect(apple.verdict == "undecided" && apple.reason == "upstream_did_not_answer", "\(apple)")
            try await eventually("the breaker opens") {
                try await Verdict(gateway.verify(Sample.receipt(0)).json).isLabelled("circuit_open")
            }
            try await Self.expectRecovery(of: gateway, askingAt: ports)
        }
    }

    private static func expectRecovery(
        of gateway: RunningGateway, askingAt ports: (production: ReservedPort, sandbox: ReservedPort)
    ) async throws {
        var configuration = AppleSimulator.Configuration(pki: Sample.pki)
        (configuration.productionPort, configuration.sandboxPort) = (ports.production.number, ports.sandbox.number)
        let stage = Stage(apple: try await AppleSimulator.start(configuration), gateway: gateway)
        try await expectRecovery(stage, from: 1)
        await stage.apple.stop()
    }

    /// Sends new receipts until the breaker has closed.
    private static func expectRecovery(_ stage: Stage, from first: Int) async throws {
        var number = first
        try await eventually("the breaker closes") {
            number += 1
            let verdict = try await stage.verify(Sample.receipt(number))
            #expect(verdict.isApples || verdict.isLabelled, "\(verdict)")
            return try await stage.metric(closed) == 1
        }
        #expect(try await stage.moves(from: "open", to: "half_open") >= 1)
        #expect(try await stage.moves(from: "half_open", to: "closed") == 1)
        #expect(try await stage.verify(Sample.receipt(first)).isApples)
    }

    @Test(.stage("{seed: 5, faults: [{share: 0.45, fault: {http_status: 502}}]}"))
    func `half of the calls fail, then Apple sends pages: every client gets a labelled answer`() async throws {
        // Too few calls for the breaker, so that all of them reach Apple.
        for number in 0..<9 {
            let verdict = try await stage.verify(Sample.receipt(number))
            #expect(verdict.isApples || verdict.isLabelled("upstream_server_error"), "\(verdict)")
        }
        try stage.play("faults: [{fault: html}]")
        let verdicts = try await stage.verify(all: (100..<160).map { Sample.receipt($0) })
        for verdict in verdicts { #expect(verdict.isLabelled, "\(verdict)") }
        try await eventually("the breaker opens") {
            try await stage.verify(Sample.receipt(200)).isLabelled("circuit_open")
        }
        #expect(try await stage.questions("answered") > 0)
        #expect(try await stage.questions("server_error") > 0)
        #expect(try await stage.questions("unusable_answer") > 0)
        #expect(try await stage.moves(from: "closed", to: "open") == 1)
        #expect(try await stage.metric(#"undecided_total{reason="upstream_did_not_answer"}"#) == 0)
    }

    @Test(.stage("faults: [{fault: {receipt_status: 21002}}]"))
    func `a receipt with a valid signature stays genuine when Apple calls it malformed`() async throws {
        var number = 0
        try await eventually("the breaker opens") {
            number += 1
            let verdict = try await stage.verify(Sample.receipt(number))
            #expect(verdict.isLabelled("upstream_calls_malformed") || verdict.isLabelled("circuit_open"), "\(verdict)")
            return verdict.degradedReasons == ["circuit_open"]
        }
        let disagreements = try await stage.metric(
            #"upstream_disagreements_total{api="verify_receipt",environment="production"}"#)
        #expect(disagreements == Double(stage.apple.stats.production) && disagreements >= 20)
        let insisting = try await stage.verify(Sample.receipt(0), mode: "apple")
        #expect(insisting.verdict == "undecided", "\(insisting)")
    }

    @Test func `the breaker opens, probes and closes, and a probe without an answer does not block it`()
        async throws
    {
        let limit = Patience.operationSetting
        let settings = ["GATEWAY_APPLE_DEADLINE": limit, "GATEWAY_APPLE_SOFT_TIMEOUT": limit]
        try await withStage("faults: [{fault: reset}]", settings) { stage in
            try await eventually("the breaker opens") {
                try await stage.verify(Sample.receipt(0)).isLabelled("circuit_open")
            }
            let asked = stage.apple.stats.production
            #expect(try await stage.verify(Sample.receipt(1)).isLabelled("circuit_open"))
            #expect(stage.apple.stats.production == asked)
            // The first probe is lost; those after it are answered.
            try stage.play("faults: [{requests: 1, fault: no_answer}]")
            try await Self.expectRecovery(stage, from: 100)
            #expect(stage.apple.statsDetails.outcomes["production"]?["no_answer"] == 1)
            #expect(try await stage.questions("timeout") == 1)
            #expect(try await stage.moves(from: "half_open", to: "open") == 1)
        }
    }
}
