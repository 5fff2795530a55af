// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A measurement and its target.
struct BenchFigure: Codable, Hashable, Sendable {
    let name: String
    let value: Double
    let unit: String
    let target: String
    let met: Bool
    /// A remark for readers.
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

/// The target of a figure.
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

/// The results of `bench`.
struct BenchReport: Codable, Sendable {
    /// Measurements with a target.
    var figures: [BenchFigure] = []
    /// The servers behind the figures.
    var contestants: [Contestant] = []
    /// Measurements without a target.
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

struct BenchTable {
    let report: BenchReport

    var text: String {
        [figures, notes, contestants, measurements, legend].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private var figures: String {
        var table = TextTable(header: ["figure", "value", "unit", "target", ""])
        for figure in report.figures {
            table.append([
                figure.name, figure.value.significant, figure.unit, figure.target, figure.met ? "met" : "MISSED",
            ])
        }
        return report.figures.isEmpty ? "" : table.text
    }

    private var notes: String {
        report.figures.compactMap { figure in figure.note.map { "\(figure.name): \($0)" } }.joined(separator: "\n")
    }

    private var contestants: String {
        var table = TextTable(header: ["server", "requests/s", "per busy second", "generator busy"])
        for row in report.contestants {
            table.append([
                row.name.rawValue, row.requestsPerSecond.asRate, row.requestsPerBusySecond.asRate,
                "\((100 * row.generatorShare).fixed(0)) %" + (row.generatorShare > BenchTurn.saturation ? " (!)" : ""),
            ])
        }
        return report.contestants.isEmpty ? "" : table.text
    }

    private var measurements: String {
        var table = TextTable(header: ["measured", "value", "unit"])
        for row in report.measurements { table.append([row.name, row.value.significant, row.unit]) }
        return report.measurements.isEmpty ? "" : table.text
    }

    private var legend: String {
        """
        per busy second   requests for each second of the server's own processor time: what ratios are made of, because
                          a neighbour on the machine changes it less than the rate
        generator busy    of its core; with (!) it was what limited requests/s, and not the server
        ratio             the median of the ratios within each of \(report.runs) runs of \
        \(report.secondsPerRun.significant) s, in which contestants take turns
        Servers run on one core and the generator on another one (\(cores)).
        """
    }

    private var cores: String {
        let cores = report.environment.allowedCores
        return cores.count > 1 ? "\(cores[0]) and \(cores[1])" : "here there is only one, which all share"
    }
}
