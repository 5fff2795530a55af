// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

extension FleetTests {
    /// Faults of a Redis with several servers, while three gateways are under load.
    @Suite(.serialized, .timeLimit(.patient)) struct TopologyFaultTests {
        @Test func `a master that dies is replaced by a replica`() async throws {
            let redis = try await RedisSentinels()
            try await withFleet(
                Fleet.plan(redisURL: "redis+sentinel://\(redis.hosts)/\(RedisSentinels.masterName)")
            ) { fleet in
                // Replicas lag: the last admissions of the lost master are lost with it.
                try await fleet.expectSurvival(
                    of: "replica promoted", excess: LimitExcess(lostBuckets: 2), receiptsFrom: 0
                ) { _ in
                    redis.nodes[0].kill()
                }
            }
            (redis.nodes + redis.sentinels).forEach { $0.kill() }
        }

        @Test func `slots move to another master, including those of buckets in use`() async throws {
            let redis = try await RedisCluster()
            try await withFleet(Fleet.plan(redisURL: "redis+cluster://\(redis.hosts)")) { fleet in
                try await fleet.expectSurvival(
                    of: "slots moved", excess: LimitExcess(), isNoticed: false, receiptsFrom: 0
                ) {
                    _ in
                    for (source, master) in redis.masters.enumerated() {
                        for slot in try Self.slotsInUse(of: master) {
                            try Self.move(slot, from: source, to: (source + 1) % redis.masters.count, of: redis)
                        }
                    }
                }
                let redirections = try await fleet.sum("store_refusals_total", ["kind": "moved"])
                #expect(redirections > 0)
            }
            redis.masters.forEach { $0.kill() }
        }

        @Test func `a master of a cluster is lost and comes back`() async throws {
            let redis = try await RedisCluster(nodeTimeout: .seconds(1))
            try await withFleet(Fleet.plan(redisURL: "redis+cluster://\(redis.hosts)")) { fleet in
                // The breaker is shared by all masters, and may close and open once more while one of them is lost.
                try await fleet.expectSurvival(
                    of: "cluster node lost", excess: LimitExcess(lostBuckets: 3), receiptsFrom: 0
                ) { log in
                    redis.masters[0].kill()
                    try await redis.masters[1].ask("CLUSTER", "INFO", until: { $0.contains("cluster_slots_fail:5461") })
                    try await log.reachMore(StoreFault.answers)
                    try await redis.masters[0].start()
                }
            }
            redis.masters.forEach { $0.kill() }
        }

        /// Returns the slots of buckets, which each request of the limited client needs, and of some cached results.
        private static func slotsInUse(of master: RealServer) throws -> Set<Int> {
            let keys = try master.ask("KEYS", "*").split(separator: "\n").map(String.init)
            let chosen = keys.filter { $0.hasPrefix("rl:") } + keys.filter { $0.hasPrefix("rc:") }.prefix(10)
            return try Set(chosen.map { try Int(master.ask("CLUSTER", "KEYSLOT", $0)) ?? 0 })
        }

        private static func move(_ slot: Int, from source: Int, to target: Int, of redis: RedisCluster) throws {
            try redis.beginMove(slot: slot, from: source, to: target)
            try redis.moveKeys(slot: slot, from: source, to: target)
            try redis.finishMove(slot: slot, to: target)
        }
    }
}
