// SPDX-License-Identifier: Apache-2.0

import Gateway
import Resilience
import Testing

@testable import AppStore

struct ServerAPIBudgetTests {
    @Test(arguments: ServerAPIOperation.allCases, UpstreamEnvironment.allCases)
    func `no hour exceeds the share of Apple's limit`(
        operation: ServerAPIOperation, environment: UpstreamEnvironment
    ) throws {
        for share in [0.01, 0.1, 0.5, 0.9, 0.999, 1] {
            let budget = ServerAPIBudget(share: share, lookupShare: 0.3)
            let limit = 360 * Double(operation.requestsPerSecond) * (environment == .production ? 10 : 1) * share
            let charges = budget.charges(for: try Self.request(operation, environment, .withoutEvidence))
            for (charge, limit) in zip(charges, [limit, limit * 0.3]) {
                let policy = charge.bucket.policy
                // A limit of less than two calls an hour is not kept: such a share is not of use.
                #expect(Double(policy.burst + policy.quota) <= max(2, limit) && policy.window == .seconds(3600))
                #expect(Double(policy.burst + policy.quota) >= limit - 3)
                #expect(!policy.isLeased && charge.cost == 1 && charge.bucket.client.isEmpty)
            }
        }
    }

    /// An hour that begins with a full bucket.
    @Test func `a simulated hour admits the share, within one per cent`() throws {
        let request = try Self.request(.orderLookup, .production, .full)
        let policy = ServerAPIBudget().charges(for: request)[0].bucket.policy.tokenBucket
        var bucket = TokenBucket(policy), admitted = 0
        let start = Instant.now
        for tenth in 0..<36_000 {
            for _ in 0..<3 where bucket.take(at: start + .milliseconds(100 * tenth)) == .admitted { admitted += 1 }
        }
        #expect(admitted <= 32_400 && admitted >= 32_076)
    }

    @Test func `evidence is charged to one bucket, a lookup to a smaller one too`() throws {
        let budget = ServerAPIBudget(share: 0.9, lookupShare: 0.3)
        let evidence = budget.charges(for: try Self.request(.transactionHistory, .production, .full))
        let lookup = budget.charges(for: try Self.request(.transactionHistory, .production, .withoutEvidence))
        #expect(evidence.map(\.bucket.policy.name) == ["transaction_history"] && lookup.first == evidence.first)
        #expect(lookup.map(\.bucket.policy.name) == ["transaction_history", "transaction_history_lookup"])
        #expect(lookup.map(\.bucket.policy.quota) == [159_344, 47_803])
        #expect(lookup.map(\.bucket.policy.burst) == [2655, 796])
    }

    @Test func `each app, environment and operation has its own bucket`() throws {
        let budget = ServerAPIBudget()
        var buckets: Set<RateBucket> = []
        for app in ["a", "b"] {
            for environment in UpstreamEnvironment.allCases {
                for operation in ServerAPIOperation.allCases {
                    var request = try Self.request(operation, environment, .full)
                    request.bundleID = app
                    buckets.formUnion(budget.charges(for: request).map(\.bucket))
                }
            }
        }
        #expect(buckets.count == 2 * 2 * ServerAPIOperation.allCases.count)
    }

    @Test func `the sandbox has a tenth`() throws {
        let budget = ServerAPIBudget(share: 1)
        let quotas = try UpstreamEnvironment.allCases.map { environment in
            budget.charges(for: try Self.request(.transactionInfo, environment, .full))[0].bucket.policy.quota
        }
        #expect(quotas == [177_049, 17_704])
    }

    private static func request(
        _ operation: ServerAPIOperation, _ environment: UpstreamEnvironment, _ share: ServerAPIRequest.Share
    ) throws -> ServerAPIRequest {
        let template = try #require(ServerAPITemplate.all.first { $0.operation == operation })
        let uuid = "758883e8-151b-47b7-abd0-60c4d804c2f5"
        let values = template.parameters.map { parameter in
            (parameter, parameter.isTransactionID ? "1" : parameter == .change ? "cancel" : uuid)
        }
        let call = try ServerAPICall(
            template, values, query: [],
            body: template.body == .none ? [] : Array("{}".utf8))
        return ServerAPIRequest(call, bundleID: "a", environment: environment, share: share)
    }
}
