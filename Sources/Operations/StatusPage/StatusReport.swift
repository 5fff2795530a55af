// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts
internal import Telemetry

struct StatusReport: Sendable {
    let time: Timestamp
    let host: String
    let issues: [StatusIssue]
    let tables: [StatusTable]
    let summary: String

    init(_ sources: StatusSources, _ history: StatusHistory) {
        let windows = StatusWindows(history), now = sources.clock()
        time = now
        host = sources.host
        issues = sources.issues(windows, at: now)
        tables = StatusPlot.all.map { $0.table(windows) } + sources.tables(windows, at: now)
        summary = Self.summary(windows.minute)
    }

    private static func summary(_ minute: StatusWindow) -> String {
        guard minute.count(.verdicts) > 0 else { return "No verdicts in the last minute." }
        let rate = StatusValue.rate(minute.rate(.verdicts)).text
        let median = minute.quantile(0.5, of: .answers).map { ", p50 \(StatusValue.latency($0).text)" }
        return "Verdicts in the last minute: \(rate)\(median ?? "")."
    }
}

enum StatusSummary: String, Sendable {
    case healthy, degraded, failing

    var title: String { rawValue.capitalizedFirst }

    var tone: StatusTone {
        switch self {
        case .healthy: .good
        case .degraded: .notable
        case .failing: .bad
        }
    }
}

extension StatusReport {
    var verdict: StatusSummary {
        switch issues.first?.severity {
        case nil, .info: .healthy
        case .warning: .degraded
        case .critical: .failing
        }
    }

    // MARK: - For programs

    func json(_ history: StatusHistory) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 32_768) { json in
            json.member("time", time.description)
            json.member("version", Version.current)
            json.member("host", host)
            json.member("verdict", verdict.rawValue)
            json.member("summary", summary)
            json.issues(issues)
            for table in tables { json.table(table) }
            json.history(history)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func issues(_ issues: [StatusIssue]) {
        objects("issues", of: issues) { json, result in
            json.member("severity", result.severity.rawValue)
            json.member("text", result.text)
            json.member("advice", result.advice)
            json.member("runbook", result.runbook?.name)
            json.member("address", result.runbook?.address)
        }
    }

    /// Writes a table as an object with a member per column, or per row if there is only one column.
    fileprivate mutating func table(_ table: StatusTable) {
        object(named: table.heading.name) { json in
            for (index, column) in table.columns.enumerated() {
                guard !column.name.isEmpty else { json.rows(table.rows, index); continue }
                json.object(named: column.name) { $0.rows(table.rows, index) }
            }
        }
    }

    private mutating func rows(_ rows: [StatusTable.Row], _ column: Int) {
        for row in rows {
            key(named: row.heading.name)
            value(row.cells[column].value)
        }
    }

    fileprivate mutating func history(_ history: StatusHistory) {
        object("history") { json in
            json.array("columns") { json in
                json.string("time_ms")
                for plot in StatusPlot.all {
                    for line in plot.lines { json.string("\(plot.heading.name).\(line.heading.name)") }
                }
            }
            json.key("samples")
            json.samples(history.inOrder)
        }
    }

    mutating func samples(_ readings: [StatusReading]) {
        array { json in
            for (from, to) in zip(readings, readings.dropFirst()) { json.sample(from, to) }
        }
    }
}

extension StatusReport {
    /// Returns an event for the page's script: formatted texts and tones by element name.
    /// - Parameter readings: the readings whose points the page may lack, and the reading before them.
    func event(_ readings: [StatusReading]) -> [UInt8] {
        let cells = tables.flatMap(\.cells)
        return JSONWriter.object(reservingCapacity: 16_384) { json in
            json.member("version", Version.current)
            json.member("clock", time.clockText)
            json.member("title", verdict.title)
            json.member("tone", verdict.tone.rawValue)
            json.member("summary", summary)
            json.issues(issues)
            json.object("texts") { json in for (name, cell) in cells { json.member(named: name, cell.value.text) } }
            json.object("tones") { json in
                for (name, cell) in cells where cell.tone != .plain { json.member(named: name, cell.tone.rawValue) }
            }
            json.key("samples")
            json.samples(readings)
        }
    }
}

extension String {
    package var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
