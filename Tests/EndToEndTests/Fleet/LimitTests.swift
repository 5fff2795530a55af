// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

extension FleetTests {
    /// A limit applies to the whole fleet.
    @Suite(.serialized, .timeLimit(.patient)) struct LimitTests {
        /// Twenty tokens per second; a bucket must hold a few more before nodes lease some in advance.
        @Test(arguments: [(burst: 20, seconds: 1, isLeased: false), (200, 10, false), (200, 10, true)])
        func `in no window the fleet admits more than burst and rate allow`(
            burst: Int, seconds: Int, isLeased: Bool
        ) async throws {
            try await withLimits(FleetLimits.one(burst, in: seconds, isLeased: isLeased)) { fleet, load in
                // At 80 per second the burst is used up before the last quarter of them.
                let outcomes = try await load.run(outcomes: burst + 200)
                #expect(outcomes.allSatisfy { $0.status == 429 || $0.isGenuine })
                let excess = outcomes.excess(burst: Double(burst), perSecond: 20)
                #expect(excess == nil, "\(String(describing: excess))")
                // The limit is also reached: nodes lease few tokens, and return them.
                let shortfall = outcomes.shortfall(burst: Double(burst), perSecond: 20)
                #expect(shortfall == nil, "\(String(describing: shortfall))")
                let leases = try await fleet.sum("rate_limit_decisions_total", ["source": "lease"])
                #expect(isLeased ? leases > 0 : leases == 0)
            }
        }

        @Test func `a request refused by one bucket costs no token of another`() async throws {
            // If refused requests were charged to the day, it would be empty within the first second.
            let policies = """
                    limits:
                      - {name: second, quota: 10, window: 1s, lease: never}
                      - {name: day, quota: 40, window: 1d, lease: never}

                """
            try await withLimits(policies) { _, load in
                let outcomes = try await load.run { log in
                    try await eventually("the day is empty") { log.outcomes.count { $0.status == 200 } >= 40 }
                    // The load of one more second.
                    try await log.reachMore(80)
                }.outcomes
                let admitted = outcomes.count { $0.status == 200 }
                #expect(admitted == 40, "\(admitted) were admitted")
                let lastAdmitted = outcomes.filter { $0.status == 200 }.map(\.end).max()
                let first = try #require(outcomes.map(\.start).min())
                #expect(try #require(lastAdmitted) - first > .seconds(2))
            }
        }

        private func withLimits(
            _ policies: String, _ test: (Fleet, FleetLoad) async throws -> Void
        ) async throws {
            let redis = try await RealServer.redis()
            var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)")
            plan.settings = ["GATEWAY_REDIS_DEADLINE": Patience.operationSetting]
            plan.clients = [("limited", policies)]
            try await withFleet(plan) { fleet in
                let receipt = Sample.receipt(0)
                let load = FleetLoad(
                    port: fleet.balancer.port, perSecond: 80, key: fleet.keys["limited"], mode: .local,
                    receipt: { _ in receipt })
                try await test(fleet, load)
            }
            redis.kill()
        }
    }
}
