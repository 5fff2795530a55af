// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing

@testable import LoadTest

/// The promises of a fleet, whatever happens to what it stands on.
extension Fleet {
    /// Of whoever may ask for ever.
    static let free = "free"
    /// Of whoever meets `quota`.
    static let limited = "limited"
    /// Tokens in each second, and at most at once.
    static let quota = 20

    /// A fleet for these tests.
    static func plan(redisURL: String) -> Plan {
        var plan = Plan(redisURL: redisURL)
        plan.clients = [(free, ""), (limited, FleetLimits.perSecond(quota))]
        return plan
    }

    /// Lets something happen under load, and holds the fleet to its promises.
    /// - Parameters:
    ///   - lostBuckets: how often the buckets may be full again, or become shares of the nodes.
    ///   - isNoticed: whether the metrics must show commands that were not answered.
    ///   - event: what happens, and its mending.
    func expectSurvival(
        of name: String, lostBuckets: Int, isNoticed: Bool = true, receiptsFrom first: Int, startsWhole: Bool = true,
        _ event: @Sendable () async throws -> Void
    ) async throws {
        if startsWhole {
            try await eventually("\(name): the fleet is whole before") {
                guard try await knowsItself() else { return false }
                return try await isWhole(first, as: Self.free)
            }
        }
        let trouble = try await storeTrouble()
        let outcome = try await underLoad(name, receiptsFrom: first + 1000, event)
        outcome.expectPromises(lostBuckets: lostBuckets)
        try outcome.note(lostBuckets: lostBuckets)
        if isNoticed {
            let after = try await storeTrouble()
            #expect(after > trouble, "\(name): the metrics tell nothing")
        }
    }

    /// Runs the body while clients ask, and goes on until the fleet is whole.
    private func underLoad(
        _ name: String, receiptsFrom first: Int, _ body: @Sendable () async throws -> Void
    ) async throws -> FaultOutcome {
        let free = FleetLoad(
            port: balancer.port, perSecond: 30, key: clients[Self.free]?.key,
            receipt: FleetLoad.distinctReceipts(from: first))
        let limited = FleetLoad(
            port: balancer.port, perSecond: Double(2 * Self.quota), key: clients[Self.limited]?.key, mode: .local,
            receipt: { _ in Sample.receipt(first) })
        let (inner, freeVisits) = try await free.run { _ in
            try await limited.run { _ in
                // Some requests before, so that connections are warm.
                try await Task.sleep(for: .milliseconds(500))
                try await body()
                return try await recovery(receiptsFrom: first + 50_000)
            }
        }
        return FaultOutcome(fault: name, recovery: inner.value, free: freeVisits, limited: inner.visits)
    }

    private func recovery(receiptsFrom first: Int) async throws -> Duration {
        let start = ContinuousClock.now
        var number = first
        try await eventually("the fleet is whole again") {
            number += 1
            return try await isWhole(number, as: Self.free)
        }
        return ContinuousClock.now - start
    }

    /// Commands to Redis that were not answered, on all nodes.
    private func storeTrouble() async throws -> Double {
        try await sum("store_commands_total") - sum("store_commands_total", ["outcome": "ok"])
    }
}
