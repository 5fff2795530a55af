// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `receipt-loadtest http` with a real gateway.
@Suite(.serialized) struct LoadTests {
    private struct Result: Decodable {
        struct Totals: Decodable {
            let intended, sent, answered, failed, shed, unanswered: Int
        }

        struct Outcome: Decodable {
            let outcome: String
            let count: Int
        }

        struct Series: Decodable {
            let name: String
            let labels: [String: String]
            let points: [[Double]]
        }

        let verdict: String
        let totals: Totals
        let outcomes: [Outcome]
        let metrics: [Series]
    }

    @Test func `a load run distinguishes a gateway's answers, and counts the same as the gateway`() async throws {
        let folder = try ScratchFolder()
        let root = folder.url.appending(path: "root.pem").path
        #expect(try await Program.loadTest.run(["http", "--root", root]).status == 0)
        let gateway = try await RunningGateway(["GATEWAY_TRUST_ROOTS": root])
        let outcome = try await Program.loadTest.run([
            "http", "http://127.0.0.1:\(gateway.dataPort)", "--rate", "100", "--duration", "3s", "--keys", "5",
            "--mix", "repeat=0.6,fresh=0.1,malformed=0.1,forged=0.1,near-expiry=0.1", "--format", "json",
            "--scrape", "http://127.0.0.1:\(gateway.adminPort)", "--timeout", "60s",
        ])
        // On a busy machine the generator may be late; it reports that, and counts all the same.
        #expect([0, 98].contains(outcome.status), "\(outcome.errors)")
        let result = try JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8))
        #expect(result.totals.intended == 300 && result.totals.sent == 300 && result.totals.answered == 300)
        let counts = Dictionary(uniqueKeysWithValues: result.outcomes.map { ($0.outcome, $0.count) })
        #expect(Set(counts.keys) == ["hit_near", "local", "rejected", "refused"])
        #expect(counts.values.reduce(0, +) == 300)
        // Five keys and all fresh or expiring receipts are verified once; every forged receipt is a new one.
        #expect(counts["hit_near", default: 0] > 120 && counts["local", default: 0] > 20)
        #expect(counts["rejected", default: 0] > 25)
        #expect(result.metrics.contains { $0.name == "receipt_gateway_verifications_total" && !$0.points.isEmpty })
        #expect(await gateway.stop() == 0)
    }

    @Test func `a search without a passing rate reports that`() async throws {
        let gateway = try await RunningGateway()
        let outcome = try await Program.loadTest.run([
            "search", "http://127.0.0.1:\(gateway.dataPort)/v1/status", "--method", "GET", "--slo", "p50<1us", "--from",
            "8",
            "--step-duration", "200ms", "--warmup", "0s", "--format", "json",
        ])
        #expect([99, 98].contains(outcome.status), "\(outcome.errors)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        #expect(report["rate_per_second"] == nil)
        #expect(["nothing", "generator_overloaded"].contains(report["end"] as? String))
        #expect(await gateway.stop() == 0)
    }
}
