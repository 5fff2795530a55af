// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The commands that start their own gateway and Apple, run for a few seconds.
@Suite(.serialized) struct RehearsalTests {
    private struct Rehearsal: Decodable {
        struct Row: Decodable {
            let requests, apple_asked, apple_failed: Int
            let breaker: String?
        }

        struct Summary: Decodable {
            let requests, genuine, degraded, apple_asked: Int
        }

        let rows: [Row]
        let summary: Summary
    }

    private struct Overhead: Decodable {
        struct Mode: Decodable {
            let mode: String
            let requests_per_second, cpu_microseconds_per_request, p99_ms: Double
        }

        struct Turn: Decodable {
            let mode: String
            let requests, resident_bytes_at_end: Int
        }

        struct Memory: Decodable {
            struct Point: Decodable {
                let resident_bytes: Int
            }

            let points: [Point]
            let is_flat: Bool
        }

        let modes: [Mode]
        let cpu_ratio: Double
        let turns: [Turn]
        let memory: Memory
    }

    @Test func `a rehearsed outage leaves no genuine receipt without its verdict`() async throws {
        let options = ["--duration", "3", "--rate", "40", "--receipts", "30", "--max-age", "0", "--rows", "6"]
        let outcome = try await Program.loadTest.run(["rehearse", "--format", "json"] + options)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let rehearsal = try JSONDecoder().decode(Rehearsal.self, from: Data(outcome.output.utf8))
        #expect(rehearsal.rows.count == 6 && rehearsal.rows.map(\.requests).reduce(0, +) == 120)
        #expect(rehearsal.rows.allSatisfy { $0.breaker != nil })
        #expect(rehearsal.rows.contains { $0.apple_failed > 0 })
        #expect(rehearsal.summary.requests == 120 && rehearsal.summary.genuine == 120)
        #expect(rehearsal.summary.degraded > 0)
        #expect(rehearsal.summary.apple_asked == rehearsal.rows.map(\.apple_asked).reduce(0, +))
    }

    @Test func `without Apple a client that requires Apple's answer gets undecided, and the exit status says so`()
        async throws
    {
        let folder = try ScratchFolder()
        let scenario = try folder.write("faults: [{fault: {http_status: 503}}]", to: "scenario.yaml")
        let options = ["--duration", "1", "--rate", "10", "--rows", "2", "--mode", "apple", "--scenario", scenario]
        let outcome = try await Program.loadTest.run(["rehearse"] + options)
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("10 of 10 requests answered, 0 genuine"), "\(outcome.output)")
    }

    @Test func `overhead sends requests to Apple in one mode only`() async throws {
        let options = [
            "--duration", "0.6", "--rounds", "2", "--receipts", "20", "--connections", "2", "--memory-minutes", "0.02",
        ]
        let outcome = try await Program.loadTest.run(["overhead", "--format", "json"] + options)
        let overhead = try JSONDecoder().decode(Overhead.self, from: Data(outcome.output.utf8))
        // So short a measurement of memory shows no trend, but the status reports the result.
        #expect(outcome.status == (overhead.memory.is_flat ? 0 : 1), "\(outcome.errors)")
        #expect(overhead.modes.map(\.mode) == ["local", "apple"])
        #expect(overhead.modes.allSatisfy { $0.requests_per_second > 0 && $0.p99_ms > 0 })
        #expect(overhead.modes.allSatisfy { $0.cpu_microseconds_per_request > 0 } && overhead.cpu_ratio > 1)
        #expect(overhead.turns.map(\.mode) == ["local", "apple", "apple", "local"])
        #expect(overhead.turns.allSatisfy { $0.requests > 0 && $0.resident_bytes_at_end > 1_000_000 })
        #expect(overhead.memory.points.count == 11)
        #expect(overhead.memory.points.allSatisfy { $0.resident_bytes > 1_000_000 })
    }

    @Test func `a missing gateway is named, with what to do`() async throws {
        for command in ["rehearse", "overhead"] {
            let outcome = try await Program.loadTest.run(
                [command, "--gateway", "/nowhere/receipt-gateway", "--receipts", "1"])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("/nowhere/receipt-gateway") && outcome.errors.contains("--gateway"))
        }
    }
}
