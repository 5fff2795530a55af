// SPDX-License-Identifier: Apache-2.0

import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The guarantees of a fleet under faults of its dependencies.
extension Fleet {
    /// The client without a limit.
    static let free = "free"
    /// The client with a limit of `quota`.
    static let limited = "limited"
    /// The tokens per second, and the size of the bucket.
    static let quota = 20

    static func plan(redisURL: String) -> Plan {
        var plan = Plan(redisURL: redisURL)
        plan.clients = [(free, ""), (limited, FleetLimits.perSecond(quota))]
        return plan
    }

    /// Runs an event under load, and checks the guarantees of the fleet.
    /// - Parameters:
    ///   - excess: what the event may add to the limit.
    ///   - isNoticed: true if the metrics must show commands without an answer.
    ///   - event: the fault, and its end; the log is that of the client without a limit.
    func expectSurvival(
        of name: String, excess: LimitExcess, isNoticed: Bool = true, receiptsFrom first: Int, startsWhole: Bool = true,
        _ event: @Sendable (FleetLog) async throws -> Void
    ) async throws {
        if startsWhole {
            try await eventually("\(name): the fleet is whole before") {
                guard try await knowsItself() else { return false }
                return try await isWhole(first, as: Self.free)
            }
        }
        let failures = try await storeFailures()
        var outcome = try await underLoad(name, excess, receiptsFrom: first + 1000, event)
        let isNoted = try await storeFailures().reduce(0, +) > failures.reduce(0, +)
        // On a busy machine commands miss their deadline without a fault: the nodes then do what a loss makes them do.
        if isNoted, excess.lostBuckets == 0 { outcome.excess = .ofLoss }
        outcome.expectPromises()
        try outcome.note()
        if isNoticed { #expect(isNoted, "\(name): the metrics do not show it") }
    }

    /// Runs the body while clients send requests, and continues until the fleet is whole.
    private func underLoad(
        _ name: String, _ excess: LimitExcess, receiptsFrom first: Int,
        _ body: @Sendable (FleetLog) async throws -> Void
    ) async throws -> FaultOutcome {
        let free = FleetLoad(
            port: balancer.port, perSecond: 30, key: keys[Self.free],
            receipt: FleetLoad.distinctReceipts(from: first))
        let limited = FleetLoad(
            port: balancer.port, perSecond: Double(2 * Self.quota), key: keys[Self.limited], mode: .local,
            receipt: { _ in Sample.receipt(first) })
        let (inner, freeOutcomes) = try await free.run { log in
            try await limited.run { _ in
                // Some requests first, so that connections are warm.
                try await log.reach(25)
                try await body(log)
                return try await recovery(receiptsFrom: first + 50_000)
            }
        }
        return FaultOutcome(
            fault: name, recovery: inner.value, free: freeOutcomes, limited: inner.outcomes, excess: excess)
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

    /// Returns the number of commands to Redis without an answer, for each node.
    func storeFailures() async throws -> [Double] {
        var failures: [Double] = []
        for node in nodes {
            let scrape = try await Scrape(node.running)
            failures.append(
                scrape.sum("store_commands_total") - scrape.sum("store_commands_total", ["outcome": "ok"]))
        }
        return failures
    }

    /// Waits until every node has had further commands without an answer.
    func noticesStoreFault(since failures: [Double]) async throws {
        try await eventually("every node notices the fault") {
            try await zip(storeFailures(), failures).allSatisfy { $0 > $1 }
        }
    }
}
