// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NIOCore
import Testing

@testable import LoadTest

struct OverheadTests {
    private static func reading(cpu: Double, verdicts: Int, resident: Int = 50_000_000) -> ProcessReading {
        ProcessReading(
            Scrape(
                """
                process_cpu_seconds_total \(cpu)
                process_resident_memory_bytes \(resident)
                receipt_gateway_verifications_total{verdict="genuine",source="apple",cache="miss",environment="Production"} \(verdicts)
                receipt_gateway_verifications_total{verdict="genuine",source="apple",cache="shared",environment="Production"} 7
                receipt_gateway_verifications_total{verdict="undecided",source="local",cache="miss",environment="unknown"} 3
                """))
    }

    private static func load(_ count: Int, status: Int = 200) -> LoadResult {
        var load = LoadResult()
        for _ in 0..<count {
            load.record(.init(latency: .milliseconds(2), reply: .success(Reply(status: status, body: ByteBuffer()))))
        }
        return load
    }

    @Test func `a turn divides what the gateway's process used by what was asked`() throws {
        let turn = try OverheadTurn(
            .apple, Self.load(100), took: .seconds(2), Self.reading(cpu: 1, verdicts: 40),
            Self.reading(cpu: 1.5, verdicts: 140, resident: 60_000_000))
        #expect(turn.requestsPerSecond == 50 && turn.cpuMicrosecondsPerRequest == 5000)
        #expect(turn.residentBytesAtStart == 50_000_000 && turn.residentBytesAtEnd == 60_000_000)
    }

    @Test func `a turn in which a request failed measured nothing`() {
        #expect(throws: OverheadError.failures(.apple, count: 2, of: 2)) {
            try OverheadTurn(
                .apple, Self.load(2, status: 503), took: .seconds(2), Self.reading(cpu: 1, verdicts: 0),
                Self.reading(cpu: 2, verdicts: 2))
        }
    }

    @Test func `a turn in which Apple was not asked each time measured nothing`() {
        #expect(throws: OverheadError.otherwiseAnswered(.apple, count: 1, of: 100)) {
            try OverheadTurn(
                .apple, Self.load(100), took: .seconds(2), Self.reading(cpu: 1, verdicts: 0),
                Self.reading(cpu: 2, verdicts: 99))
        }
    }

    @Test func `ratios are taken within rounds`() throws {
        func turn(_ mode: VerifyMode, _ rate: Double) -> OverheadTurn {
            OverheadTurn(
                mode: mode, requests: 10, requestsPerSecond: rate, cpuMicrosecondsPerRequest: 1e6 / rate,
                residentBytesAtStart: 1, residentBytesAtEnd: 1, latencies: LatencyHistogram())
        }
        // The second round's machine was ten times as slow.
        let report = OverheadReport([turn(.local, 1000), turn(.apple, 500), turn(.apple, 50), turn(.local, 100)])
        #expect(report.requestsPerSecondRatio == 0.5 && report.cpuRatio == 2)
        #expect(report.modes.map(\.mode) == [.local, .apple] && report.modes[0].requestsPerSecond == 550)
        #expect(OverheadTable(report: report).text.contains("0.50 of the requests/s, 2.00 times the CPU"))
    }

    // MARK: - Memory

    private static func points(_ resident: (Int) -> Int) -> [MemoryPoint] {
        (0...30).map { MemoryPoint(seconds: Double(10 * $0), residentBytes: resident($0)) }
    }

    @Test func `memory that fills its pools and then wavers is flat`() {
        let trend = MemoryTrend(Self.points { $0 < 6 ? 20_000_000 + 5_000_000 * $0 : 50_000_000 + 100_000 * ($0 % 2) })
        #expect(trend.isFlat && trend.thresholdBytesPerMinute == 500_000)
    }

    @Test(arguments: [(83_000, true), (84_000, false)])
    func `memory that grows by more than a hundredth a minute is not flat`(bytesPerLook: Int, isFlat: Bool) {
        // Six looks a minute; the first that counts is the seventh.
        let trend = MemoryTrend(Self.points { 50_000_000 + bytesPerLook * ($0 - 6) })
        #expect(trend.bytesPerMinute == Double(6 * bytesPerLook) && trend.isFlat == isFlat)
    }

    @Test func `one look shows no trend`() {
        #expect(MemoryTrend([MemoryPoint(seconds: 0, residentBytes: 1000)]).bytesPerMinute == 0)
        #expect(MemoryTrend([]).isFlat)
    }

    // MARK: - Options

    @Test func `without options the modes work ten seconds each on eight connections`() throws {
        let plan = try OverheadCommand.parse([]).plan
        #expect(plan.turn == .seconds(2) && plan.connections == 8 && plan.receipts == 2000)
        #expect(plan.memoryMinutes == nil)
    }

    @Test func `memory is looked at every ten seconds, or ten times in less than two minutes`() throws {
        #expect(try OverheadCommand.parse(["--memory-minutes", "5"]).plan.memoryInterval == .seconds(10))
        #expect(try OverheadCommand.parse(["--memory-minutes", "0.5"]).plan.memoryInterval == .seconds(3))
    }

    @Test(arguments: [
        ["--duration", "0"], ["--rounds", "0"], ["--connections", "0"], ["--connections", "1001"],
        ["--receipts", "0"], ["--memory-minutes", "0"], ["--memory-minutes", "nan"], ["--format", "xml"],
    ])
    func `overhead refuses what it cannot measure`(options: [String]) {
        #expect(throws: (any Error).self) { try OverheadCommand.parse(options) }
    }
}
