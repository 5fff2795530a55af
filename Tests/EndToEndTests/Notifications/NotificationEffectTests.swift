// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

/// The effects of Apple's notifications at all nodes of a fleet.
@Suite(.serialized, .timeLimit(.patient)) struct NotificationEffectTests {
    @Test func `a refund ends every cached answer about the purchase, at each node`() async throws {
        try await Self.withFleet(customers: 1) { fleet, _ in
            let evidence = try await fleet.evidence(of: 0)
            for node in fleet.nodes.indices {
                #expect(try await fleet.verify(evidence, at: node).states == ["active"])
                try await eventually("node \(node) repeats its answer") {
                    try await fleet.verify(evidence, at: node).cache == "near"
                }
            }
            #expect(try await fleet.verify(idOf: 0, at: 0).cache == "miss")
            let shared = try await fleet.verify(idOf: 0, at: 1)
            #expect(shared.cache == "shared" && shared.states == ["active"])
            try await eventually("the shared answer is repeated") {
                try await fleet.verify(idOf: 0, at: 1).cache == "near"
            }
            let lookups = fleet.lookups
            try fleet.notify("REFUND", about: 0..<1)
            for node in fleet.nodes.indices {
                try await eventually("node \(node) knows the refund") {
                    try await fleet.verify(evidence, at: node).states == ["revoked"]
                }
                #expect(try await fleet.verify(evidence, at: node).source == "notification")
            }
            #expect(fleet.lookups == lookups)
            for node in fleet.nodes.indices {
                let verdict = try await fleet.verify(idOf: 0, at: node)
                #expect(verdict.isServerAPIs && verdict.states == ["revoked"], "\(verdict)")
            }
        }
    }

    @Test func `copies at the same time take effect once, on one node or the other`() async throws {
        let count = 20, copies = 5
        try await Self.withFleet(customers: count) { fleet, redis in
            let evidence = try await fleet.evidence(of: 0..<count)
            try fleet.notify("REFUND", about: 0..<count, copies: copies)
            try await eventually("all copies are acknowledged") {
                fleet.attempts.succeeded == count * copies && fleet.isDelivered
            }
            try await eventually("all are applied") {
                try await fleet.sum("notifications_applied_total") == Double(count)
            }
            #expect(try [redis].storedNotifications() == count && [redis].pendingNotifications() == 0)
            #expect(try await fleet.sum("notifications_applied_total", ["effect": "changed"]) == Double(count))
            for (outcome, expected) in [("stored", count), ("duplicate", count * (copies - 1))] {
                let labels = ["outcome": outcome, "origin": "posted"]
                #expect(try await fleet.sum("notifications_received_total", labels) == Double(expected))
            }
            try await fleet.expectStatuses(evidence)
        }
    }

    @Test func `while Redis is away Apple answers about a refunded purchase`() async throws {
        try await Self.withFleet(customers: 1) { fleet, redis in
            let evidence = try await fleet.evidence(of: 0)
            try fleet.notify("REFUND", about: 0..<1)
            for node in fleet.nodes.indices {
                try await eventually("node \(node) knows the refund") {
                    try await fleet.verify(evidence, at: node).states == ["revoked"]
                }
            }
            redis.kill()
            for node in fleet.nodes.indices {
                let verdict = try await fleet.verify(evidence, at: node)
                #expect(verdict.states == ["revoked"], "\(verdict)")
            }
        }
    }

    @Test func `while Redis is away an answer from fresh evidence is labelled, and Apple is not called`() async throws {
        try await Self.withFleet(customers: 1) { fleet, redis in
            let evidence = try await fleet.evidence(of: 0), lookups = fleet.lookups
            for node in fleet.nodes.indices {
                let before = try await fleet.verify(evidence, at: node)
                #expect(before.source == "local" && before.degradedReasons.isEmpty, "\(before)")
            }
            redis.kill()
            for node in fleet.nodes.indices {
                try await eventually("node \(node) labels its answer") {
                    try await fleet.verify(evidence, at: node).isLabelled("shared_store_unreachable")
                }
                #expect(try await fleet.verify(evidence, at: node).states == ["active"])
                let labels = ["reason": "shared_store_unreachable"]
                #expect(try await fleet.nodes[node].sum("degraded_total", labels) > 0)
            }
            try await redis.start()
            for node in fleet.nodes.indices {
                try await eventually("node \(node) has no reason for a label") {
                    try await fleet.verify(evidence, at: node).degradedReasons.isEmpty
                }
            }
            #expect(fleet.lookups == lookups)
        }
    }

    @Test func `new cache keys in the documented steps lose no notification`() async throws {
        let group = 10
        func customers(_ number: Int) -> Range<Int> { number * group..<(number + 1) * group }
        try await Self.withFleet(customers: 5 * group) { fleet, redis in
            let evidence = try await fleet.evidence(of: 0..<5 * group)
            func part(of groups: Range<Int>) -> [Int: String] {
                evidence.filter { groups.contains($0.key / group) }
            }
            try fleet.notify("REFUND", about: customers(0))
            try await eventually("the first group is applied") { try [redis].customerStates() == group }
            // Each group is notified while one node has other keys than the other one.
            for (number, keys) in [[Self.first, Self.second], [Self.second, Self.first]].enumerated() {
                try await Self.restart(fleet, keys) { try fleet.notify("REFUND", about: customers(number + 1)) }
                try await Self.expectNothingLeft(of: fleet, redis)
            }
            try await fleet.expectStatuses(part(of: 0..<3))
            try fleet.notify("REFUND", about: customers(3))
            try await Self.expectNothingLeft(of: fleet, redis)
            try await Self.restart(fleet, [Self.second]) { try fleet.notify("REFUND", about: customers(4)) }
            try await Self.expectNothingLeft(of: fleet, redis)
            // The states of the first key are two days old by then, and so is evidence that lacks them.
            try await fleet.expectStatuses(part(of: 3..<5))
        }
    }

    // MARK: - Steps

    private static let first = Fleet.cacheKeys
    private static let second = "k2:" + Data((0..<32).map { UInt8($0 * 5 + 3) }).base64EncodedString()

    /// Restarts the nodes with other cache keys, one after the other.
    /// - Parameter half: called after the first one.
    private static func restart(
        _ fleet: NotificationFleet, _ keys: [String], _ half: () throws -> Void
    ) async throws {
        for (number, node) in fleet.nodes.enumerated() {
            #expect(await node.stop() == 0)
            try await node.start(["GATEWAY_CACHE_KEYS": keys.joined(separator: ",")])
            try await eventually("the node is ready") { try await node.isReady() }
            if number == 0 { try half() }
        }
    }

    private static func expectNothingLeft(of fleet: NotificationFleet, _ redis: RealServer) async throws {
        try await eventually("all are stored") { fleet.isDelivered }
        try await eventually("all are applied") { try [redis].pendingNotifications() == 0 }
        #expect(try await fleet.sum("notification_dead_letters") == 0)
    }

    private static func withFleet(
        customers: Int, _ test: (NotificationFleet, RealServer) async throws -> Void
    ) async throws {
        let redis = try await RealServer.redis()
        try await NotificationFleet.run(redisURL: "redis://127.0.0.1:\(redis.port)", customers: customers) {
            try await test($0, redis)
        }
        redis.kill()
    }
}
