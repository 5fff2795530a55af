// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Something that was measured, and what it should be.
struct BenchFigure: Codable, Hashable, Sendable {
    let name: String
    let value: Double
    /// Such as `ratio`, `ms`, `KiB`.
    let unit: String
    /// Such as `>= 0.8`.
    let target: String
    let met: Bool
    /// What a reader should know of it.
    var note: String?

    init(_ name: String, _ value: Double, _ unit: String, _ target: BenchTarget, note: String? = nil) {
        self.name = name
        self.unit = unit
        self.note = note
        self.value = value.isFinite ? value.rounded(toDecimals: 3) : 0
        self.target = target.description
        met = value.isFinite && target.isMet(by: value)
    }
}

/// What a figure should be.
enum BenchTarget: Hashable, Sendable, CustomStringConvertible {
    case atLeast(Double)
    case atMost(Double)

    func isMet(by value: Double) -> Bool {
        switch self {
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        }
    }

    var description: String {
        switch self {
        case .atLeast(let bound): ">= \(PlainNumber.text(bound))"
        case .atMost(let bound): "<= \(PlainNumber.text(bound))"
        }
    }
}

/// What `bench` writes.
struct BenchReport: Codable, Sendable {
    /// Those with a target.
    var figures: [BenchFigure] = []
    /// What they were made of.
    var contestants: [Contestant] = []
    /// Numbers without a target.
    var measurements: [Measurement] = []
    let runs: Int
    let secondsPerRun: Double
    let environment: RunResult.Environment

    /// A server in a closed loop; medians of all runs.
    struct Contestant: Codable, Hashable, Sendable {
        let name: LoadTest.Contestant.Name
        let requestsPerSecond: Double
        let requestsPerBusySecond: Double
        let generatorShare: Double

        private enum CodingKeys: String, CodingKey {
            case name
            case requestsPerSecond = "requests_per_second"
            case requestsPerBusySecond = "requests_per_busy_second"
            case generatorShare = "generator_cpu_share"
        }
    }

    struct Measurement: Codable, Hashable, Sendable {
        let name: String
        let value: Double
        let unit: String

        init(_ name: String, _ value: Double, _ unit: String) {
            self.name = name
            self.value = value.isFinite ? value.rounded(toDecimals: 3) : 0
            self.unit = unit
        }
    }

    private enum CodingKeys: String, CodingKey {
        case figures, contestants, measurements, runs, environment
        case secondsPerRun = "seconds_per_run"
    }

    init(plan: BenchPlan) {
        runs = plan.runs
        secondsPerRun = plan.seconds
        environment = .current()
    }
}
