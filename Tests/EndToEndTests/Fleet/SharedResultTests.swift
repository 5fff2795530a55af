// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

extension FleetTests {
    /// Nodes share results: no node repeats a request to Apple that another has made.
    @Suite(.serialized, .timeLimit(.patient)) struct SharedResultTests {
        /// A longer deadline, so that a busy machine does not look like a store without answers.
        private static let patient = ["GATEWAY_REDIS_DEADLINE": Patience.operationSetting]

        @Test func `crowds at three nodes with forty receipts cost forty requests to Apple`() async throws {
            try await withStore(["GATEWAY_APPLE_SOFT_TIMEOUT": "20s"], scenario: "faults: [{latency: 0.3}]") { fleet in
                let receipts = (0..<40).map { Sample.receipt($0) }
                let verdicts = try await withThrowingTaskGroup { group in
                    for receipt in receipts {
                        for node in fleet.nodes.indices {
                            for _ in 0..<4 { group.addTask { try await fleet.verify(receipt, at: node) } }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(verdicts.count == 480)
                for verdict in verdicts { #expect(verdict.isApples, "\(verdict)") }
                // On a busy machine one node may have waited for another for the whole lease.
                let overdue = try await fleet.sum("flight_leases_total", ["outcome": "overdue"])
                let requests = fleet.apple.stats.production
                #expect(40...(40 + Int(overdue)) ~= requests && fleet.apple.stats.distinctReceipts == 40)
            }
        }

        @Test func `other spellings of a receipt share its entry, at every node`() async throws {
            let forge = FaultForge(pki: Sample.pki)
            try await withStore { fleet in
                let original = ForgedEvidence.der(forge.wellFormed).base64
                #expect(try await fleet.verify(original, at: 0).cache == "miss")
                let names = [
                    "base64-with-line-breaks", "certificates-reversed", "root-omitted",
                    "signature-algorithm-with-digest",
                    "digest-parameters-absent",
                ]
                for (number, name) in names.enumerated() {
                    let spelling = forge.evidence(with: try #require(ReceiptFault(named: name))).base64
                    #expect(spelling != original)
                    let verdict = try await fleet.verify(spelling, at: number % 3)
                    #expect(verdict.isApples && verdict.cache == "shared", "\(name): \(verdict)")
                }
                #expect(fleet.apple.stats.sandbox == 1)
            }
        }

        @Test func `Apple's answer under one option, secret or app is not used under another`() async throws {
            try await withStore { fleet in
                let receipt = Sample.receipt(0)
                func ask(_ more: [String: Any], password: String? = nil) async throws -> Int {
                    let before = fleet.apple.stats.production
                    if let password {
                        let body = ["receipt-data": receipt, "password": password].merging(more) { "\($1)" }
                        #expect(try await fleet.nodes[before % 3].running.verifyReceipt(body).status == 200)
                    } else {
                        #expect(try await fleet.verify(receipt, at: before % 3, more).verdict == "genuine")
                    }
                    return fleet.apple.stats.production - before
                }
                #expect(try await ask([:]) == 1)
                #expect(try await ask([:]) == 0)
                #expect(try await ask(["exclude_old_transactions": true]) == 1)
                #expect(try await ask(["exclude_old_transactions": true]) == 0)
                #expect(try await ask([:], password: "0123456789abcdef0123456789abcdef") == 1)
                #expect(try await ask([:], password: "fedcba9876543210fedcba9876543210") == 1)
                let other = try await fleet.verify(receipt, at: 2, ["bundle_id": "com.example.other"])
                #expect(other.verdict == "rejected" && other.reason == "bundle_id_mismatch", "\(other)")
            }
        }

        @Test func `no node calls a subscription active after its end, even from the shared cache`() async throws {
            try await withStore(["GATEWAY_VERIFICATION_CLOCK_SKEW": "0s"]) { fleet in
                let boundary = UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970) + 3)
                let receipt = Sample.receipt(0, endingAt: boundary)
                var states: Set<String> = []
                try await eventually("all nodes say that it has expired") {
                    var expired = 0
                    for node in fleet.nodes.indices {
                        let begin = Date().timeIntervalSince1970
                        let verdict = try await fleet.verify(receipt, at: node)
                        try #require(verdict.verdict == "genuine" && verdict.states.count == 1, "\(verdict)")
                        states.formUnion(verdict.states)
                        let isOver = begin > Double(boundary.secondsSince1970)
                        #expect(!isOver || verdict.states != ["active"], "\(verdict)")
                        if verdict.states == ["expired"] { expired += 1 }
                    }
                    return expired == fleet.nodes.count
                }
                #expect(states == ["active", "expired"])
            }
        }

        @Test func `a node that is killed during its request to Apple leaves no client waiting`() async throws {
            try await withStore(scenario: "faults: [{requests: 1, latency: 30}]") { fleet in
                let receipt = Sample.receipt(0)
                let first = Task { try? await fleet.verify(receipt, at: 0) }
                try await eventually("Apple is asked") { fleet.apple.stats.production == 1 }
                async let second = fleet.verify(receipt, at: 1)
                async let third = fleet.verify(receipt, at: 2)
                try await fleet.nodes[0].kill()
                // After the soft timeout a client gets a degraded answer.
                let verdicts = try await [second, third]
                for verdict in verdicts { #expect(verdict.isApples, "\(verdict)") }
                #expect(fleet.apple.stats.production <= 3)
                _ = await first.value
                try await fleet.nodes[0].start()
                try await eventually("the fleet is whole again") { try await fleet.isWhole(1) }
            }
        }

        private func withStore(
            _ settings: [String: String] = [:], scenario: String = "", _ test: (Fleet) async throws -> Void
        ) async throws {
            let redis = try await RealServer.redis()
            var plan = Fleet.Plan(redisURL: "redis://127.0.0.1:\(redis.port)")
            plan.settings = Self.patient.merging(settings) { $1 }
            plan.scenario = scenario
            try await withFleet(plan, test)
            redis.kill()
        }
    }
}
