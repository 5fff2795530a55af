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
        guard let median = minute.quantile(0.5, of: .answers) else { return "No requests in the last minute." }
        let rate = StatusValue.rate(minute.rate(.verdicts)).text
        return "Verdicts in the last minute: \(rate), p50 \(StatusValue.latency(median).text)."
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
        var json = JSONWriter(reservingCapacity: 32_768)
        json.object { json in
            json.member("time", time.description)
            json.member("version", Version.current)
            json.member("host", host)
            json.member("verdict", verdict.rawValue)
            json.member("summary", summary)
            json.issues(issues)
            for table in tables { json.table(table) }
            json.key("history")
            json.history(history)
        }
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func issues(_ issues: [StatusIssue]) {
        key("issues")
        array { json in
            for result in issues {
                json.object { json in
                    json.member("severity", result.severity.rawValue)
                    json.member("text", result.text)
                    json.member("advice", result.advice)
                    json.member("runbook", result.runbook?.name)
                    json.member("address", result.runbook?.address)
                }
            }
        }
    }

    /// Writes a table as an object with a member per column, or per row if there is only one column.
    fileprivate mutating func table(_ table: StatusTable) {
        key(named: table.heading.name)
        object { json in
            for (index, column) in table.columns.enumerated() {
                guard !column.name.isEmpty else { json.rows(table.rows, index); continue }
                json.key(named: column.name)
                json.object { $0.rows(table.rows, index) }
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
        object { json in
            json.key("columns")
            json.array { json in
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
        var json = JSONWriter(reservingCapacity: 16_384)
        json.object { json in
            json.member("version", Version.current)
            json.member("clock", time.clockText)
            json.member("title", verdict.title)
            json.member("tone", verdict.tone.rawValue)
            json.member("summary", summary)
            json.issues(issues)
            json.key("texts")
            json.object { json in for (name, cell) in cells { json.member(named: name, cell.value.text) } }
            json.key("tones")
            json.object { json in
                for (name, cell) in cells where cell.tone != .plain { json.member(named: name, cell.tone.rawValue) }
            }
            json.key("samples")
            json.samples(readings)
        }
        return json.bytes
    }
}

extension String {
    package var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
