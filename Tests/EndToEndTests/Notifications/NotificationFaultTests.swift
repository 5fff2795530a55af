// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

/// Faults of gateways and of Redis while Apple sends notifications: none is lost, and all are in effect in the end.
@Suite(.serialized, .timeLimit(.patient)) struct NotificationFaultTests {
    /// The limit of a wait for retries of Apple, and for what other nodes take over.

    @Test func `a node that is killed and a Redis without memory lose no notification`() async throws {
        let redis = try await RealServer.redis(), count = 300
        try await NotificationFleet.run(redisURL: "redis://127.0.0.1:\(redis.port)", customers: count) { fleet in
            let evidence = try await fleet.evidence(of: 0..<count)
            try fleet.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", about: 0..<count)
            try await eventually("some are stored") { try [redis].storedNotifications() > count / 6 }
            try await fleet.nodes[0].kill()
            try await eventually("the other node stores all") { fleet.isDelivered }
            try await eventually("and applies all") {
                try [redis].pendingNotifications() == 0 && [redis].customerStates() == count
            }
            #expect(try [redis].storedNotifications() == count)

            let failed = fleet.attempts.failed
            try redis.ask("CONFIG", "SET", "maxmemory", "1")
            try fleet.notify("REFUND", about: 0..<count / 2)
            try fleet.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", about: count / 2..<count)
            try await eventually("Apple gets errors") { fleet.attempts.failed > failed + 20 }
            #expect(try await fleet.nodes[1].sum("notifications_refused_total", ["reason": "store_full"]) > 0)
            #expect(try [redis].storedNotifications() == count)
            try redis.ask("CONFIG", "SET", "maxmemory", "0")
            try await fleet.nodes[0].start()
            try await eventually("Apple's retries are stored") { fleet.isDelivered }
            try await eventually("and applied") { try [redis].pendingNotifications() == 0 }
            #expect(try [redis].storedNotifications() == 2 * count)
            #expect(try [redis].customerStates() == count)
            #expect(try await fleet.sum("notification_dead_letters") == 0)
            try await fleet.expectStatuses(evidence)
        }
        redis.kill()
    }

    @Test func `what is stored is applied although Redis has no memory left`() async throws {
        let redis = try await RealServer.redis(), count = 40
        try await NotificationFleet.run(redisURL: "redis://127.0.0.1:\(redis.port)", customers: count) { fleet in
            let evidence = try await fleet.evidence(of: 0..<count)
            // The nodes store, and Redis refuses what they would apply: scripts with a state.
            for node in fleet.nodes { #expect(await node.stop() == 0) }
            try fleet.notify("REFUND", about: 0..<count, isDelivered: false)
            let since = Date(timeIntervalSinceNow: -600).formatted(.iso8601)
            let backfill = try await Program.gateway.run(
                ["notifications", "backfill", "--since", since, "--environment", "production"],
                environment: fleet.settings)
            #expect(backfill.status == 0, "\(backfill.errors)")
            #expect(try [redis].pendingNotifications() == count)
            try redis.ask("CONFIG", "SET", "maxmemory", "1")
            for node in fleet.nodes { try await node.start() }
            try await eventually("all are applied") {
                try [redis].pendingNotifications() == 0 && [redis].customerStates() == count
            }
            try redis.ask("CONFIG", "SET", "maxmemory", "0")
            try await fleet.expectStatuses(evidence)
        }
        redis.kill()
    }

    @Test func `a Redis that is emptied while notifications arrive gets the earlier ones from Apple`() async throws {
        let redis = try await RealServer.redis(), count = 60
        try await NotificationFleet.run(redisURL: "redis://127.0.0.1:\(redis.port)", customers: count) { fleet in
            let evidence = try await fleet.evidence(of: 0..<count)
            try fleet.notify("REFUND", about: 0..<count / 2)
            try await eventually("the first half is applied") { try [redis].customerStates() == count / 2 }
            try fleet.notify("REFUND", about: count / 2..<count)
            try redis.ask("FLUSHALL")
            try await eventually("all are applied") { try [redis].customerStates() == count }
            #expect(
                try await fleet.sum("notifications_received_total", ["origin": "history", "outcome": "stored"]) > 0)
            try await fleet.expectStatuses(evidence)
        }
        redis.kill()
    }

    @Test func `what a failover loses comes back from Apple's history`() async throws {
        let redis = try await RedisSentinels(), count = 40
        let url = "redis+sentinel://\(redis.hosts)/\(RedisSentinels.masterName)"
        try await NotificationFleet.run(redisURL: url, customers: count) { fleet in
            let evidence = try await fleet.evidence(of: 0..<count)
            let master = redis.nodes[0], replicas = Array(redis.nodes.dropFirst())
            try fleet.notify("REFUND", about: 0..<count / 2)
            try await eventually("the first half is replicated") {
                try replicas.allSatisfy { try [$0].customerStates() == count / 2 }
            }
            // From here on the replicas get nothing.
            for replica in replicas { replica.freeze() }
            try master.ask("CLIENT", "KILL", "TYPE", "replica")
            try fleet.notify("REFUND", about: count / 2..<count)
            try await eventually("the second half is applied") { try [master].customerStates() == count }
            master.kill()
            for replica in replicas { replica.thaw() }
            try await eventually("the history is applied") {
                replicas.contains { (try? [$0].customerStates()) == count }
            }
            try await Self.expectRecovered(count / 2, in: fleet)
            try await fleet.expectStatuses(evidence)
        }
        (redis.nodes + redis.sentinels).forEach { $0.kill() }
    }

    @Test func `what a master of a cluster had comes back from Apple's history`() async throws {
        let redis = try await RedisCluster(), count = 40
        try await NotificationFleet.run(redisURL: "redis+cluster://\(redis.hosts)", customers: count) { fleet in
            let evidence = try await fleet.evidence(of: 0..<count)
            try fleet.notify("REFUND", about: 0..<count)
            try await eventually("all are applied") { try redis.masters.customerStates() == count }
            let held = try redis.masters.map { try [$0].customerStates() }
            let most = try #require(held.max()), lost = try #require(held.firstIndex(of: most))
            redis.masters[lost].kill()
            try await redis.masters[lost].start()
            try await eventually("the history is applied") {
                (try? redis.masters.customerStates()) == count
            }
            try await Self.expectRecovered(most, in: fleet)
            try await fleet.expectStatuses(evidence)
        }
        redis.masters.forEach { $0.kill() }
    }

    /// Expects that the nodes got this many lost notifications from Apple's history.
    private static func expectRecovered(_ count: Int, in fleet: NotificationFleet) async throws {
        let labels = ["origin": "history", "outcome": "stored"]
        #expect(try await fleet.sum("notifications_received_total", labels) >= Double(count))
    }
}
