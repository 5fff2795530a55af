// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

/// Answers that a real gateway compares with another source, with a simulated Apple and a real Redis.
@Suite(.serialized, .timeLimit(.patient)) struct ComparisonTests {
    /// Runs a test with a gateway that compares all of its answers, and gets answers about receipts from `verifyReceipt`.
    private static func run(
        _ mode: String, _ test: (SameAnswerStage, _ report: () async throws -> Report) async throws -> Void
    ) async throws {
        let redis = try await RealServer.redis()
        defer { redis.kill() }
        let store = ["GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys]
        let settings = [
            "GATEWAY_COMPARISON_MODE": mode, "GATEWAY_COMPARISON_SHARE": "1",
            "GATEWAY_COMPARISON_MAX_REQUESTS_PER_SECOND": "1000",
            // A busy machine must not look like a store without answers.
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting,
        ]
        try await SameAnswerStage.run(before: settings.merging(store) { $1 }) { stage in
            try await test(stage) {
                let run = try await Program.gateway.run(
                    ["comparison", "report", "--format", "json"], environment: store)
                #expect(run.status == 0, "\(run.errors)")
                return try JSONDecoder().decode(Report.self, from: Data(run.output.utf8))
            }
        }
    }

    /// The output of `receipt-gateway comparison report --format json`.
    private struct Report: Decodable {
        struct Pair: Decodable {
            let pair: String
            let compared: Int
            let equal: Int
            let unanswered: Int
            let differences: [Difference]
        }

        struct Difference: Decodable {
            let field: String
            let answer: String
            let other: String
            let count: Int

            var kind: String { "\(field) \(answer) \(other)" }
        }

        let pairs: [Pair]

        /// The number of results of all pairs.
        var count: Int { pairs.reduce(0) { $0 + $1.compared + $1.unanswered } }
    }

    @Test func `verifyReceipt and the Server API are equal in every story, and the report has what differs`()
        async throws
    {
        try await Self.run("verify_receipt_server_api") { stage, report in
            var count = 0
            func ask(_ receipts: [StoryReceipt]) async throws {
                for receipt in receipts {
                    try await stage.forget(receipt.chains)
                    _ = try await stage.verify(receipt.text)
                    count += 1
                }
                // The next story must not begin before Apple was asked about this one.
                try await eventually { try await Scrape(stage.before).sum("comparisons_total") == Double(count) }
            }
            for story in SameAnswerTests.stories {
                stage.apple.play(try Scenario(yaml: "stories: {default: \(story)}"))
                try await ask(StoryReceipt.all)
                let differences = try await Self.differences(of: stage.before)
                #expect(differences.isEmpty, "\(story): \(differences)")
            }
            try await eventually { try await report().count == count }
            let equal = try #require(try await report().pairs.first)
            #expect(equal.pair == "verify_receipt_server_api" && equal.differences.isEmpty)
            #expect(equal.compared == count && equal.equal == count)

            let unknown = "faults: [{api: server_api, fault: {server_api_error: 4040010}}]"
            stage.apple.play(try Scenario(yaml: unknown))
            try await ask([StoryReceipt.appReceipts[0]])
            try await eventually { try await report().count == count }
            let different = try #require(try await report().pairs.first)
            #expect(different.compared == count && different.equal == count - 1)
            #expect(different.differences.map(\.kind) == ["verdict genuine transaction_unknown"])
        }
    }

    @Test func `signed receipts are compared with Apple, which no longer has an account`() async throws {
        try await Self.run("local_apple") { stage, report in
            let receipt = StoryReceipt.appReceipts[0]
            stage.apple.play(try Scenario(yaml: "stories: {default: as_in_receipt}"))
            _ = try await stage.verify(receipt.text)
            try await eventually { try await report().count == 1 }
            #expect(try await report().pairs.first?.equal == 1)
            try await stage.forget(receipt.chains)
            stage.apple.play(try Scenario(yaml: "stories: {default: account_deleted}"))
            _ = try await stage.verify(receipt.text, mode: "local")
            try await eventually { try await report().count == 2 }
            let pair = try #require(try await report().pairs.first)
            #expect(pair.pair == "local_apple" && pair.differences.map(\.kind) == ["verdict genuine account_not_found"])
            // The status page reads the store every ten seconds.
            try await eventually {
                let page = try await stage.before.get("/status.json", port: stage.before.adminPort)
                let table = try page.json["comparison_local_apple"] as? [String: Any]
                return table?["compared"] as? Int == 2 && table?["verdict:genuine:account_not_found"] as? Int == 1
            }
        }
    }

    // MARK: - Metrics

    private static func differences(of gateway: RunningGateway) async throws -> [String] {
        try await Scrape(gateway).values
            .filter { $0.key.hasPrefix("receipt_gateway_comparison_differences_total{") && $0.value > 0 }.map(\.key)
    }
}
