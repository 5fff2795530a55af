// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Testing
import TestSupport

/// Many requests at once, with clients that leave and a gateway that stops. One after another: crowds disturb each
/// other.
@Suite(.serialized, .timeLimit(.patient)) struct CrowdTests {
    private var stage: Stage { .current }
    private static let patient = ["GATEWAY_APPLE_SOFT_TIMEOUT": "30s", "GATEWAY_APPLE_DEADLINE": "30s"]
    /// Slots for hundreds of requests to Apple, and time to finish them.
    private static let unhurried = patient.merging([
        "GATEWAY_APPLE_CONCURRENCY": "600", "GATEWAY_APPLE_BREAKER": "forced_closed", "GATEWAY_SHUTDOWN_GRACE": "60s",
    ]) { $1 }

    @Test(.stage("faults: [{latency: 1}]", patient))
    func `a thousand clients with one receipt cost one request to Apple`() async throws {
        let verdicts = try await stage.verify(all: Array(repeating: Sample.receipt(0), count: 1000))
        #expect(verdicts.count == 1000)
        for verdict in verdicts { #expect(verdict.isApples, "\(verdict)") }
        #expect(stage.apple.stats.production == 1, "\(stage.apple.stats)")
        #expect(try await stage.metric("coalesced_requests_total") > 0)
    }

    @Test func `a client that hangs up cancels no other client's request`() async throws {
        // The departure must be seen before Apple answers, however slow the machine is.
        for latency in [5, 10, 20] where try await showsThatAnotherHangsUp(beforeAppleAnswersIn: latency) { return }
        Issue.record("Apple always answered before the departure was seen")
    }

    /// - Returns: false if Apple answered first, so that nothing was shown.
    private func showsThatAnotherHangsUp(beforeAppleAnswersIn seconds: Int) async throws -> Bool {
        var isShown = false
        try await withStage("faults: [{latency: \(seconds)}]", Self.patient) { stage in
            let leaver = try await Caller(asking: stage.gateway, about: Sample.receipt(0))
            try await eventually("Apple is asked") { stage.apple.stats.production == 1 }
            let stayer = Task { try await stage.verify(Sample.receipt(0)) }
            try await eventually("the other asks") {
                try await stage.metric(#"cache_lookups_total{result="miss"}"#) == 2 || stage.apple.isIdle
            }
            try await leaver.hangUp()
            try await eventually("the gateway sees it") {
                try await stage.metric("http_connections") == 1 || stage.apple.isIdle
            }
            isShown = !stage.apple.isIdle
            let verdict = try await stayer.value
            guard isShown else { return }
            #expect(verdict.isApples, "\(verdict)")
            #expect(stage.apple.stats.production == 1)
            #expect(try await stage.metric("coalesced_requests_total") == 1)
        }
        return isShown
    }

    @Test(.stage("faults: [{latency: 1}]", patient))
    func `a request whose only client hung up is still answered, for the next`() async throws {
        let leaver = try await Caller(asking: stage.gateway, about: Sample.receipt(0))
        try await eventually("Apple is asked") { stage.apple.stats.production == 1 }
        try await leaver.hangUp()
        try await eventually("the gateway sees it") { try await stage.metric("http_connections") == 0 }
        try await eventually("Apple has answered") { stage.apple.statsDetails.inFlight == 0 }
        #expect(try await stage.verify(Sample.receipt(0)).isApples)
        #expect(stage.apple.stats.production == 1)
    }

    @Test func `a request without a concurrency slot is labelled, and is no failure of Apple`() async throws {
        // A request waits for a slot for half of its deadline. The first twenty hold all slots for longer than that;
        // a request that gets a slot after them is answered at once, so no deadline is missed on a slow machine.
        let settings = ["GATEWAY_APPLE_SOFT_TIMEOUT": "30s", "GATEWAY_APPLE_DEADLINE": "30s"]
        try await withStage("", settings) { stage in
            // Quick answers keep the share of slow ones below what opens the breaker.
            for asked in 300..<320 { #expect(try await stage.verify(Sample.receipt(asked)).isApples) }
            try stage.play("faults: [{requests: 20, latency: 16}]")
            let verdicts = try await stage.verify(all: (0..<300).map { Sample.receipt($0) })
            #expect(verdicts.count == 300)
            Self.expectApplesOrSaturated(verdicts)
            #expect(verdicts.contains { $0.isApples } && verdicts.contains { $0.isLabelled })
            #expect(try await stage.questions("timeout") == 0)
            #expect(try await stage.moves(from: "closed", to: "open") == 0)
        }
    }

    @Test(.stage("faults: [{latency: 0.2}]", unhurried))
    func `five hundred requests that are at Apple when the gateway is stopped are all answered`()
        async throws
    {
        let asked = try await makeRoom(for: 500, on: stage)
        let answered = stage.apple.stats.production
        // On a busy machine the last of them arrives seconds after the first.
        try stage.play("faults: [{latency: 20}]")
        async let verdicts = stage.verify(all: (asked..<asked + 500).map { Sample.receipt($0) })
        try await eventually("all are at Apple") { stage.apple.statsDetails.inFlight == 500 }
        #expect(await stage.gateway.stop() == 0)
        Self.expectApples(500, try await verdicts)
        #expect(stage.apple.stats.production == answered + 500)
    }

    @Test func `requests that wait for a slot when the gateway is stopped are sent to Apple and answered`() async throws
    {
        // The first twenty hold all slots while the others arrive. These wait for half of the deadline at most: the
        // difference is the time that is left to serve them.
        let scenario = "faults: [{requests: 20, latency: 10}]"
        try await withStage(scenario, Self.unhurried) { stage in
            async let verdicts = stage.verify(all: (0..<200).map { Sample.receipt($0) })
            try await eventually("all have asked") { try await stage.metric("http_requests_in_flight") == 200 }
            #expect(stage.apple.statsDetails.inFlight == 20 && stage.apple.stats.production == 20)
            #expect(await stage.gateway.stop() == 0)
            Self.expectApples(200, try await verdicts)
            #expect(stage.apple.stats.production == 200 && stage.apple.stats.distinctReceipts == 200)
        }
    }

    /// Sends quick requests until the concurrency limit has this size. A slow machine's first calls let the gateway
    /// expect a long wait, so it may reject some requests.
    /// - Returns: the number of requests sent.
    private func makeRoom(for count: Int, on stage: Stage) async throws -> Int {
        var asked = 0
        while try await stage.metric(#"upstream_concurrency_limit{api="verify_receipt",environment="production"}"#)
            < Double(count)
        {
            let receipts = (asked..<asked + count).map { Sample.receipt($0) }
            Self.expectApplesOrSaturated(try await stage.verify(all: receipts))
            asked += count
        }
        return asked
    }

    private static func expectApplesOrSaturated(_ verdicts: [Verdict]) {
        for verdict in verdicts {
            #expect(verdict.isApples || verdict.isLabelled("upstream_saturated"), "\(verdict)")
        }
    }

    private static func expectApples(_ count: Int, _ verdicts: [Verdict]) {
        #expect(verdicts.count == count)
        for verdict in verdicts { #expect(verdict.isApples, "\(verdict)") }
    }
}

extension AppleSimulator {
    /// True if no request waits for its answer.
    fileprivate var isIdle: Bool { statsDetails.inFlight == 0 }
}
