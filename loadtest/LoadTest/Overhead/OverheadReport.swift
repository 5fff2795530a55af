// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `overhead --format json` prints.
struct OverheadReport: Encodable, Sendable {
    let modes: [OverheadMode]
    /// Apple's divided by local's: medians of the ratios within each round.
    let requestsPerSecondRatio: Double
    let cpuRatio: Double
    let turns: [OverheadTurn]
    /// Nil if memory was not watched.
    let memory: MemoryTrend?

    private enum CodingKeys: String, CodingKey {
        case modes, turns, memory
        case requestsPerSecondRatio = "requests_per_second_ratio"
        case cpuRatio = "cpu_ratio"
    }
}

/// One mode, all its turns together; rates are medians.
struct OverheadMode: Encodable, Hashable, Sendable {
    let mode: VerifyMode
    let requestsPerSecond: Double
    let cpuMicrosecondsPerRequest: Double
    let p50Milliseconds: Double
    let p99Milliseconds: Double

    private enum CodingKeys: String, CodingKey {
        case mode
        case requestsPerSecond = "requests_per_second"
        case cpuMicrosecondsPerRequest = "cpu_microseconds_per_request"
        case p50Milliseconds = "p50_ms"
        case p99Milliseconds = "p99_ms"
    }
}

extension OverheadReport {
    init(_ turns: [OverheadTurn], _ memory: MemoryTrend? = nil) {
        func values(_ mode: VerifyMode, _ value: (OverheadTurn) -> Double) -> Rates {
            Rates(turns.filter { $0.mode == mode }.map(value))
        }
        func ratio(_ value: (OverheadTurn) -> Double) -> Double {
            values(.apple, value).ratio(to: values(.local, value)).rounded(toDecimals: 3)
        }
        modes = OverheadPlan.modes.map { mode in OverheadMode(mode, turns.filter { $0.mode == mode }) }
        requestsPerSecondRatio = ratio(\.requestsPerSecond)
        cpuRatio = ratio(\.cpuMicrosecondsPerRequest)
        self.turns = turns
        self.memory = memory
    }
}

extension OverheadMode {
    /// - Parameter turns: of this mode.
    init(_ mode: VerifyMode, _ turns: [OverheadTurn]) {
        self.mode = mode
        requestsPerSecond = Rates(turns.map(\.requestsPerSecond)).median.rounded(toDecimals: 1)
        cpuMicrosecondsPerRequest = Rates(turns.map(\.cpuMicrosecondsPerRequest)).median.rounded(toDecimals: 1)
        var latencies = LatencyHistogram()
        for turn in turns { latencies.merge(turn.latencies) }
        p50Milliseconds = (latencies.percentile(50)?.milliseconds ?? 0).rounded(toDecimals: 3)
        p99Milliseconds = (latencies.percentile(99)?.milliseconds ?? 0).rounded(toDecimals: 3)
    }
}
