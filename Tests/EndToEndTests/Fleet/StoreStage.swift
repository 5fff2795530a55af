// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing

/// A fleet with one Redis, and a proxy that can disturb the connection to it.
struct StoreStage: Sendable {
    let redis: RealServer
    let way: FaultProxy
    let fleet: Fleet

    /// Sends a command to Redis directly, past the proxy.
    @discardableResult
    func redis(_ words: [String], password: String? = nil) async throws -> String {
        let login = password.map { ["-a", $0, "--no-auth-warning"] } ?? []
        let outcome = try await Program.named.run(["redis-cli", "-p", "\(redis.port)"] + login + words)
        return outcome.output
    }

    /// Ends all connections of the gateways, including those subscribed to invalidations.
    func killClients(password: String? = nil) async throws {
        for type in ["normal", "pubsub"] { try await redis(["client", "kill", "type", type], password: password) }
    }
}

extension StoreStage {
    /// Runs a test with a fleet and its Redis.
    /// - Parameter isThere: true if Redis is reachable from the beginning.
    static func with(isThere: Bool = true, _ test: (StoreStage) async throws -> Void) async throws {
        let redis = try await RealServer.redis()
        let way = try await FaultProxy(to: redis.port)
        var plan = Fleet.plan(redisURL: "redis://127.0.0.1:\(way.port)")
        if !isThere {
            try await way.refuse()
            plan.settings["GATEWAY_REDIS_EXPECTED_NODES"] = "\(plan.nodes)"
        }
        try await withFleet(plan) { try await test(StoreStage(redis: redis, way: way, fleet: $0)) }
        try await way.close()
        redis.kill()
    }
}

/// One fleet for all tests of a suite, which run in turn.
struct SharedStoreStage: SuiteTrait, TestScoping {
    @TaskLocal static var current: StoreStage?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreStage.with { stage in
            try await Self.$current.withValue(stage) { try await function() }
        }
    }
}

extension Trait where Self == SharedStoreStage {
    static var sharedStoreStage: SharedStoreStage { SharedStoreStage() }
}
