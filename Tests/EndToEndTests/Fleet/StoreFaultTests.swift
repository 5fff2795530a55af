// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import Testing

@testable import LoadTest

/// Something happens to Redis while customers ask.
@Suite(.serialized, .sharedStoreStage, .timeLimit(.minutes(4))) struct StoreFaultTests {
    @Test(arguments: Array(StoreFault.all.enumerated()))
    func `nobody is left without an answer, no limit is left open, and the fleet is whole again by itself`(
        number: Int, fault: StoreFault
    ) async throws {
        let stage = try #require(SharedStoreStage.current)
        try await stage.expectSurvival(of: fault, receiptsFrom: 100_000 * (number + 1))
    }
}

/// Redis is not there yet.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StoreAbsenceTests {
    @Test func `gateways start without Redis, serve, and find it by themselves`() async throws {
        try await StoreStage.with(isThere: false) { stage in
            for node in stage.fleet.nodes {
                let ready = try await node.running.get("/readyz", port: node.backend.adminPort)
                #expect(ready.status == 200, "\(String(decoding: ready.body, as: UTF8.self))")
            }
            let absent = StoreFault(name: "absent at start", strike: { _ in })
            try await stage.expectSurvival(of: absent, receiptsFrom: 0, startsWhole: false)
        }
    }
}

extension StoreStage {
    /// Lets something happen under load, mends it, and holds the fleet to its promises.
    func expectSurvival(of fault: StoreFault, receiptsFrom first: Int, startsWhole: Bool = true) async throws {
        if startsWhole {
            try await eventually("\(fault.name): the fleet is whole before") { try await isWhole(first) }
        }
        let trouble = try await storeTrouble()
        let outcome = try await underLoad(fault.name, receiptsFrom: first + 1000) {
            try await fault.strike(self)
            try await Task.sleep(for: fault.lasts)
            try await fault.mend(self)
        }
        outcome.expectPromises(lostBuckets: fault.lostBuckets)
        try outcome.note(lostBuckets: fault.lostBuckets)
        if fault.isNoticed {
            let after = try await storeTrouble()
            #expect(after > trouble, "\(fault.name): the metrics tell nothing")
        }
    }

    /// Runs the body while clients ask, and goes on until the fleet is whole.
    func underLoad(
        _ name: String, receiptsFrom first: Int, _ body: @Sendable () async throws -> Void
    ) async throws -> FaultOutcome {
        let port = fleet.balancer.port
        let free = FleetLoad(
            port: port, perSecond: 30, key: fleet.clients[Self.free]?.key,
            receipt: FleetLoad.distinctReceipts(from: first))
        let limited = FleetLoad(
            port: port, perSecond: Double(2 * Self.quota), key: fleet.clients[Self.limited]?.key, mode: .local,
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
            return try await isWhole(number)
        }
        return ContinuousClock.now - start
    }

    func isWhole(_ number: Int) async throws -> Bool {
        try await fleet.isWhole(number, as: Self.free)
    }

    /// Commands to Redis that were not answered, on all nodes.
    func storeTrouble() async throws -> Double {
        try await fleet.sum("store_commands_total") - fleet.sum("store_commands_total", ["outcome": "ok"])
    }
}
