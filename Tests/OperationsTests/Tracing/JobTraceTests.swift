// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import RealServers
import Testing
import TestSupport

@testable import ServerTestSupport

/// The trace of a deferred verification, from the request to the attempt that decides it.
@Suite("The trace of a deferred verification", .timeLimit(.patient))
struct JobTraceTests {
    private static let name = "attempt verification"

    @Test func `an attempt of any node has a link to the request that made the job`() async throws {
        let collector = SpanCollector(), receipt = Data(Forged.receipts(1)[0]).base64EncodedString()
        var lines: [String] = []
        try await collector.run { url in
            try await TracedFleet.run { fleet in
                try await fleet.withNode(to: url, reachesApple: false) { gateway in
                    let answer = try await gateway.ask(
                        "POST /v1/verify", ["Content-Type: application/json", "Prefer: respond-async"],
                        body: #"{"receipt":"\#(receipt)","mode":"apple"}"#)
                    #expect(answer?.status == 202, "\(String(describing: answer))")
                    try await eventually { !collector.spans(named: Self.name).isEmpty }
                }
                for queue in ["production", "sandbox"] {
                    for id in try fleet.redis.ask("ZRANGE", "gw:{v}:due:\(queue)", "0", "-1").split(separator: "\n") {
                        try fleet.redis.ask("ZADD", "gw:{v}:due:\(queue)", "1", String(id))
                    }
                }
                try await fleet.withNode(to: url) { gateway in
                    try await eventually { collector.spans(named: Self.name).contains { $0.isDecided } }
                    lines = gateway.log.containing(#""message":"Apple answered""#)
                }
            }
        }
        let request = try #require(collector.spans(named: "POST /v1/verify").first)
        #expect(request.attributes["http.response.status_code"] == "202")
        let attempts = collector.spans(named: Self.name)
        for attempt in attempts {
            #expect(attempt.kind == "5" && attempt.parent.isEmpty && attempt.traceID != request.traceID)
            let links = attempt.json.elements("links")
            #expect(links.map { $0["spanId"]?.string } == [request.spanID])
            #expect(links.map { $0["traceId"]?.string } == [request.traceID])
        }
        let failed = try #require(attempts.first { !$0.isDecided })
        #expect(failed.attributes["receipt_gateway.verdict"] == "undecided")
        #expect(failed.attributes["receipt_gateway.degraded"] == "upstream_unreachable")
        let decided = try #require(attempts.first { $0.isDecided })
        #expect(decided.attributes["receipt_gateway.verdict"] == "genuine")
        // The work of the attempt is in its trace, and in the log under the trace's ID.
        let within = collector.spans.filter { $0.traceID == decided.traceID && $0.parent == decided.spanID }
        #expect(within.contains { $0.name == "POST" && $0.attributes["receipt_gateway.upstream"] == "sandbox" })
        #expect(lines.contains { $0.contains(#""trace_id":"\#(decided.traceID)""#) })
    }
}

extension SpanCollector.Span {
    fileprivate var isDecided: Bool { attributes["receipt_gateway.outcome"] == "decided" }
}
