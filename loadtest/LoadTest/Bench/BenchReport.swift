// SPDX-License-Identifier: Apache-2.0

/// A measurement, with its target if it has a target.
struct BenchFigure: Codable, Hashable, Sendable {
    let name: String
    let value: Double
    let unit: String
    let target: String?
    let met: Bool?
    let note: String?

    init(_ name: String, _ value: Double, _ unit: String, _ target: BenchTarget? = nil, note: String? = nil) {
        self.name = name
        self.unit = unit
        self.note = note
        self.value = value.isFinite ? value.rounded(toDecimals: 3) : 0
        self.target = target?.description
        met = target.map { value.isFinite && $0.comparison.holds(value, $0.bound) }
    }
}

struct BenchTarget: Sendable, CustomStringConvertible {
    fileprivate let comparison: Threshold.Comparison
    fileprivate let bound: Double

    static func atLeast(_ bound: Double) -> BenchTarget { BenchTarget(comparison: .atLeast, bound: bound) }
    static func atMost(_ bound: Double) -> BenchTarget { BenchTarget(comparison: .atMost, bound: bound) }

    var description: String { "\(comparison.rawValue) \(PlainNumber.text(bound))" }
}

struct BenchReport: Codable, Sendable {
    var figures: [BenchFigure] = []
    var servers: [Server] = []
    var measurements: [BenchFigure] = []
    let runs: Int
    let secondsPerRun: Double
    let environment: RunResult.Environment

    /// A server in a closed loop; medians of all runs.
    struct Server: Codable, Hashable, Sendable {
        let name: BenchServer.Name
        let connections: Int
        let requestsPerSecond, requestsPerBusySecond, generatorCpuShare: Double

        private enum CodingKeys: String, CodingKey {
            case name, connections
            case requestsPerSecond = "requests_per_second"
            case requestsPerBusySecond = "requests_per_busy_second"
            case generatorCpuShare = "generator_cpu_share"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case figures, servers, measurements, runs, environment
        case secondsPerRun = "seconds_per_run"
    }

    init(plan: BenchPlan) {
        runs = plan.runs
        secondsPerRun = plan.seconds
        environment = .current()
    }

    /// Adds a figure if there is a target, else a measurement.
    mutating func add(
        _ name: String, _ value: Double, _ unit: String, _ target: BenchTarget? = nil, note: String? = nil
    ) {
        let figure = BenchFigure(name, value, unit, target, note: note)
        if target == nil { measurements.append(figure) } else { figures.append(figure) }
    }
}

struct BenchTable {
    let report: BenchReport

    var text: String {
        [figures, notes, servers, measurements, legend].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private var figures: String {
        table(["figure", "value", "unit", "target", ""], report.figures) { figure in
            let verdict = figure.met == true ? "met" : "MISSED"
            return [figure.name, figure.value.significant, figure.unit, figure.target ?? "", verdict]
        }
    }

    private var notes: String {
        report.figures.compactMap { figure in figure.note.map { "\(figure.name): \($0)" } }.joined(separator: "\n")
    }

    private var servers: String {
        table(["server", "connections", "requests/s", "per busy second", "generator busy"], report.servers) { row in
            let share = row.generatorCpuShare, sign = share > BenchTurn.saturation ? " (!)" : ""
            return [
                row.name.rawValue, "\(row.connections)", row.requestsPerSecond.asRate, row.requestsPerBusySecond.asRate,
                "\((100 * share).fixed(0)) %\(sign)",
            ]
        }
    }

    private var measurements: String {
        table(["measured", "value", "unit"], report.measurements) { [$0.name, $0.value.significant, $0.unit] }
    }

    private func table<Row>(_ header: [String], _ rows: [Row], _ cells: (Row) -> [String]) -> String {
        rows.isEmpty ? "" : AlignedTable(header: header, rows: rows.map(cells)).text
    }

    private var legend: String {
        """
        per busy second   requests for each second of the server's own processor time: what ratios are made of, because
                          a neighbour on the machine changes it less than the rate
        generator busy    of its core; with (!) it was what limited requests/s, and not the server
        ratio             the median of the ratios within each of \(report.runs) runs of \
        \(report.secondsPerRun.significant) s, in which servers take turns
        Servers run on one core and the generator on another one (\(cores)).
        """
    }

    private var cores: String {
        let cores = report.environment.allowedCores
        return cores.count > 1 ? "\(cores[0]) and \(cores[1])" : "here there is only one, which all share"
    }
}
