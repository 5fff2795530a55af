// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing
import TestSupport

extension FleetTests {
    /// A purge at one node affects the cached results of all.
    @Suite(.serialized, .timeLimit(.patient)) struct PurgeTests {
        @Test func `after a purge every node has Apple's new answer, from one request to Apple`() async throws {
            try await withStore { fleet, _ in
                let receipt = Sample.receipt(0)
                for _ in 0..<2 {
                    for node in fleet.nodes.indices { _ = try await fleet.verify(receipt, at: node) }
                }
                try await eventually("a near cache has the answer") {
                    try await fleet.verify(receipt, at: 2).cache == "near"
                }
                #expect(fleet.apple.stats.production == 1)
                #expect(try await fleet.purge(0, at: 1) == 200)
                #expect(try await fleet.verify(receipt, at: 1).cache == "miss")
                for node in fleet.nodes.indices {
                    try await eventually("node \(node) is told of the purge") {
                        try await fleet.verify(receipt, at: node).cache != "near"
                    }
                }
                for node in fleet.nodes.indices { #expect(try await fleet.verify(receipt, at: node).isApples) }
                #expect(fleet.apple.stats.production == 2)
            }
        }

        @Test func `a purge reaches all results of one transaction`() async throws {
            try await withStore { fleet, _ in
                func ask(_ password: Int, at node: Int) async throws -> Int {
                    let before = fleet.apple.stats.production
                    let body = ["receipt-data": Sample.receipt(0), "password": String(format: "%032x", password)]
                    #expect(try await fleet.nodes[node].running.verifyReceipt(body).status == 200)
                    return fleet.apple.stats.production - before
                }
                var requests = 0
                for password in 0...70 { requests += try await ask(password, at: password % 3) }
                requests += try await ask(0, at: 1)
                #expect(requests == 71)
                let purge = try await fleet.purge(0, at: 2)
                #expect(purge == 200)
                for password in [0, 35, 70] { requests += try await ask(password, at: 2) }
                #expect(requests == 74)
            }
        }

        @Test func `a purge reaches the first request for a receipt while it waits for Apple`() async throws {
            try await withStore(scenario: "faults: [{requests: 1, latency: 1}]") { fleet, _ in
                let receipt = Sample.receipt(0)
                async let early = fleet.verify(receipt, at: 0)
                try await eventually("Apple is asked") { fleet.apple.stats.production == 1 }
                #expect(try await fleet.purge(0, at: 1) == 200)
                // It came before the purge, so it gets the answer that it waited for.
                #expect(try await early.isApples)
                for node in [2, 0] { #expect(try await fleet.verify(receipt, at: node).isApples) }
                #expect(fleet.apple.stats.production == 2)
            }
        }

        @Test func `without Redis a purge is an error, and an earlier answer is labelled as possibly old`() async throws
        {
            try await withStore { fleet, redis in
                let receipt = Sample.receipt(0)
                for node in fleet.nodes.indices { _ = try await fleet.verify(receipt, at: node) }
                redis.kill()
                #expect(try await fleet.purge(0, at: 0) == 503)
                try await eventually("the node answers from its own copy") {
                    let verdict = try await fleet.verify(receipt, at: 1)
                    return verdict.source == "apple" && verdict.degradedReasons == ["shared_store_unreachable"]
                }
                #expect(fleet.apple.stats.production == 1)
            }
        }

        private func withStore(
            scenario: String = "", _ test: (Fleet, RealServer) async throws -> Void
        ) async throws {
            let redis = try await RealServer.redis()
            var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)")
            // A longer deadline, so that a busy machine does not look like a store without answers.
            plan.settings = ["GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_APPLE_SOFT_TIMEOUT": "20s"]
            plan.scenario = scenario
            try await withFleet(plan) { try await test($0, redis) }
            redis.kill()
        }
    }
}

extension Fleet {
    /// Returns the status of a purge of a sample's transaction.
    fileprivate func purge(_ number: Int, at node: Int) async throws -> Int {
        try await nodes[node].running.purge(Sample.transactionID(number)).status
    }
}
