// SPDX-License-Identifier: Apache-2.0

import RealServers
import Receipts
import Redis
import Resilience
import Testing
import TestSupport

@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

/// Nodes in this process that share a real Redis.
@Suite(.timeLimit(.patient))
struct FleetTests {
    private static let reason = "flight_leases_total"

    @Test func `a fleet sends Apple one request for each receipt`() async throws {
        let redis = try await RealServer.redis()
        let apple = ScriptedApple(isOpen: false)
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis), apple: apple) }
        let receipts = Forged.receipts(5)
        try await StoreNode.run(nodes) {
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for node in nodes {
                    for receipt in receipts {
                        for _ in 1...10 { group.addTask { try await node.ask(receipt) } }
                    }
                }
                try await eventually { apple.count >= receipts.count }
                apple.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count == 100 && answers.allSatisfy { $0.provenance.source == .apple })
            #expect(apple.count == receipts.count)
            let outcomes = nodes.map { node in
                ["held", "found"].map { node.metric(#"\#(Self.reason){outcome="\#($0)"}"#) ?? 0 }
            }
            #expect(outcomes[0][0] + outcomes[1][0] == 5 && outcomes[0][1] + outcomes[1][1] == 5)
        }
    }

    @Test func `a cached result serves other nodes, but not a request with max_age 0`() async throws {
        let redis = try await RealServer.redis()
        let apple = ScriptedApple()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis), apple: apple) }
        let receipt = Forged.receipts(1)[0]
        try await StoreNode.run(nodes) {
            _ = try await nodes[0].ask(receipt)
            #expect(try await nodes[1].ask(receipt).provenance.cache == .shared)
            #expect(apple.count == 1)
            // The cached result is too old for this request.
            _ = try await nodes[1].ask(receipt, maximumAge: .zero)
            #expect(apple.count == 2)
        }
    }

    @Test func `a holder that is gone delays others only briefly, and its lease expires`() async throws {
        let redis = try await RealServer.redis()
        let node = try StoreNode(.test(redis)), gone = try StoreNode(.test(redis))
        let receipt = try Forged.verifier.verify(Forged.receipts(1)[0], at: .now())
        let options = UpstreamRequest(subject: .signed(VerifiedEvidence(.appReceipt(receipt))))
        let key = CacheKey(options, at: .verifyReceipt, with: ScriptedApple.secret)
        try await StoreNode.run([node, gone]) {
            guard case .held = await gone.fleet.ports.leases.acquire(key, awaiting: nil) else {
                Issue.record("no other node holds the lease")
                return
            }
            let start = ContinuousClock.now
            #expect(try await node.ask(Forged.receipts(1)[0]).provenance.source == .apple)
            let waited = start.duration(to: .now)
            #expect(waited >= DistributedSingleFlight.Limits.wait)
            // On a machine so busy that the lease has expired meanwhile, the node gets it.
            let wasBusy = waited >= .milliseconds(RedisFlightLeases.Limits.milliseconds)
            #expect(node.metric(#"\#(Self.reason){outcome="overdue"}"#) == 1 || wasBusy)
            try await eventually {
                if case .held = await node.fleet.ports.leases.acquire(key, awaiting: nil) { true } else { false }
            }
        }
    }

    @Test func `a waiting request gets the holder's failure, and a later one sends its own request`() async throws {
        let redis = try await RealServer.redis()
        let failing = ScriptedApple(.failure(.requestRefused), isOpen: false), spare = ScriptedApple()
        let nodes = [try StoreNode(.test(redis), apple: failing), try StoreNode(.test(redis), apple: spare)]
        let receipt = Forged.receipts(1)[0]
        try await StoreNode.run(nodes) {
            async let first = nodes[0].ask(receipt)
            try await eventually { failing.count == 1 }
            async let second = nodes[1].ask(receipt)
            // It waits as soon as its own command has returned.
            let waits = (nodes[1].fleet.service as? StoreService)?.events.leaseWaits
            try await eventually { waits?.count == 1 }
            failing.open()
            #expect(try await first.provenance.degradedReasons == [.upstreamRequestRefused])
            #expect(try await second.provenance.degradedReasons == [.upstreamRequestRefused])
            #expect(spare.count == 0)
            #expect(try await nodes[1].ask(receipt).provenance.source == .apple)
            #expect(spare.count == 1)
        }
    }

    @Test func `without Redis each node sends its own request without waiting`() async throws {
        let redis = try await RealServer.redis()
        redis.kill()
        let apple = ScriptedApple()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis, deadline: .milliseconds(50)), apple: apple) }
        try await StoreNode.run(nodes) {
            for node in nodes {
                #expect(node.health.condition == .degraded)
                #expect(try await node.ask(Forged.receipts(1)[0]).provenance.source == .apple)
                #expect(node.metric(#"\#(Self.reason){outcome="unavailable"}"#) == 1)
            }
            #expect(apple.count == 2)
            try await redis.start()
            for node in nodes { try await eventually { node.health.condition == .connected } }
        }
    }

    @Test func `all nodes share the budget of requests to Apple`() async throws {
        let redis = try await RealServer.redis()
        let nodes = try (0..<2).map { _ in try StoreNode(.test(redis)) }
        let budget = UpstreamBudget(
            RatePolicy(name: "apple", quota: 1, window: .seconds(3600), burst: 3, isLeased: false), of: .production)
        try await StoreNode.run(nodes) {
            var admitted: [Bool] = []
            for number in 0..<4 { admitted.append(await budget.take(from: nodes[number % 2].fleet.ports.limiter)) }
            #expect(admitted == [true, true, true, false])
            #expect(budget.remaining(at: .now) == 0)
        }
    }
}
