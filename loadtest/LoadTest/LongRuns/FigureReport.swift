// SPDX-License-Identifier: Apache-2.0

struct MeasuredFigure: Codable, Hashable, Sendable {
    let name: String
    let value: Double
    let unit: String
    let target: String?
    let met: Bool?
    let note: String?

    init(_ name: String, _ value: Double, _ unit: String, _ target: FigureTarget? = nil, note: String? = nil) {
        self.name = name
        self.unit = unit
        self.note = note
        self.value = value.isFinite ? value.rounded(toDecimals: 3) : 0
        self.target = target?.description
        met = target.map { value.isFinite && $0.comparison.holds(value, $0.bound) }
    }
}

struct FigureTarget: Sendable, CustomStringConvertible {
    fileprivate let comparison: Threshold.Comparison
    fileprivate let bound: Double

    static func atLeast(_ bound: Double) -> FigureTarget { FigureTarget(comparison: .atLeast, bound: bound) }
    static func atMost(_ bound: Double) -> FigureTarget { FigureTarget(comparison: .atMost, bound: bound) }

    var description: String { "\(comparison.rawValue) \(PlainNumber.text(bound))" }
}

/// The measurement of a figure in one of several runs.
struct FigureSample: Sendable {
    let name: String
    let value: Double
    let unit: String
    let target: FigureTarget?
    let note: String?

    init(_ name: String, _ value: Double, _ unit: String, _ target: FigureTarget? = nil, note: String? = nil) {
        (self.name, self.value, self.unit, self.target, self.note) = (name, value, unit, target, note)
    }
}

/// The result of a long run: figures with targets, and measurements beside them.
struct FigureReport: Codable, Sendable {
    /// The run in a few words; nil for the bench.
    var title: String?
    var figures: [MeasuredFigure] = []
    var servers: [Server] = []
    var measurements: [MeasuredFigure] = []
    /// The runs of each server of the bench, and their length.
    var runs: Int?
    var secondsPerRun: Double?
    var environment = RunResult.Environment.current()

    /// A server in a closed loop; medians of all runs.
    struct Server: Codable, Hashable, Sendable {
        let name: BenchServer.Name
        let connections: Int
        let requestsPerSecond, requestsPerBusySecond, generatorCpuShare: Double
    }

    /// Adds a figure if there is a target, else a measurement.
    mutating func add(
        _ name: String, _ value: Double, _ unit: String, _ target: FigureTarget? = nil, note: String? = nil
    ) {
        let figure = MeasuredFigure(name, value, unit, target, note: note)
        if target == nil { measurements.append(figure) } else { figures.append(figure) }
    }

    /// Adds the median of each figure over several runs, and the last note about it.
    ///
    /// A shared machine may be fast in some runs and slow in other runs. So a ratio is a figure of each run: the ratio of
    /// two medians would stem from different runs.
    mutating func add(mediansOf runs: [[FigureSample]]) {
        for (index, figure) in (runs.first ?? []).enumerated() {
            let samples = runs.map { $0[index] }
            add(
                figure.name, samples.map(\.value).median, figure.unit, figure.target,
                note: samples.compactMap(\.note).last)
        }
    }

    mutating func addFaults(_ name: String, _ count: Int) {
        add(name, Double(count), "", .atMost(0))
    }

    var missed: [MeasuredFigure] { figures.filter { $0.met == false } }

    /// Writes the report, and returns the exit status: 99 for a missed target of a run that has a title.
    func written(as format: ReportFormat) throws -> Int32 {
        try format.write(self, or: text)
        return title == nil || missed.isEmpty ? 0 : 99
    }

    /// `All 7 targets met`.
    var headline: String {
        guard !figures.isEmpty else { return "Measured without targets" }
        let all = figures.count
        return missed.isEmpty ? "All \(all) targets met" : "\(missed.count) of \(all) targets missed"
    }

    /// The figures for readers; of a run with a title, the verdict first.
    var text: String {
        let verdict = title.map { "\(missed.isEmpty ? "PASSED" : "FAILED")  \($0): \(headline)" } ?? ""
        return [verdict, figureTable, notes, serverTable, measurementTable, legend].filter { !$0.isEmpty }
            .joined(separator: "\n\n")
    }

    private var figureTable: String {
        table(["figure", "value", "unit", "target", ""], figures) { figure in
            let verdict = figure.met == true ? "met" : "MISSED"
            return [figure.name, figure.value.significant, figure.unit, figure.target ?? "", verdict]
        }
    }

    private var notes: String {
        figures.compactMap { figure in figure.note.map { "\(figure.name): \($0)" } }.joined(separator: "\n")
    }

    private var serverTable: String {
        table(["server", "connections", "requests/s", "per busy second", "generator busy"], servers) { row in
            let share = row.generatorCpuShare, sign = share > BenchTurn.saturation ? " (!)" : ""
            return [
                row.name.rawValue, "\(row.connections)", row.requestsPerSecond.asRate, row.requestsPerBusySecond.asRate,
                "\((100 * share).fixed(0)) %\(sign)",
            ]
        }
    }

    private var measurementTable: String {
        table(["measured", "value", "unit"], measurements) { [$0.name, $0.value.significant, $0.unit] }
    }

    private func table<Row>(_ header: [String], _ rows: [Row], _ cells: (Row) -> [String]) -> String {
        rows.isEmpty ? "" : AlignedTable(header: header, rows: rows.map(cells)).text
    }

    private var legend: String {
        guard let runs, let secondsPerRun else { return "" }
        return """
            per busy second   requests for each second of the server's own processor time: what ratios are made of, because
                              a neighbour on the machine changes it less than the rate
            generator busy    of its core; with (!) it was what limited requests/s, and not the server
            ratio             the median of the ratios within each of \(runs) runs of \
            \(secondsPerRun.significant) s, in which servers take turns
            Servers run on one core and the generator on another one (\(cores)).
            """
    }

    private var cores: String {
        let cores = environment.allowedCores
        return cores.count > 1 ? "\(cores[0]) and \(cores[1])" : "here there is only one, which all share"
    }
}
