// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Telemetry
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import HTTPServer
internal import HTTPTypes
internal import JSON

/// The status page as HTML, complete without script; the script keeps it up to date.
struct StatusPage: Sendable {
    let report: StatusReport
    let readings: [StatusReading]
    let configurationText: String

    private static let style = String(decoding: PackageResources.page_css, as: UTF8.self)
    private static let script = String(decoding: PackageResources.page_js, as: UTF8.self)

    /// The headers. They allow only this page's own style and script, and connections to this node (CSP Level 3).
    static let headers: HTTPFields = [
        .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer", .crossOriginResourcePolicy: "same-origin",
        .contentSecurityPolicy: [
            "default-src 'none'", "script-src '\(source(script))'", "style-src '\(source(style))'",
            "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; "),
    ]

    private static func source(_ text: String) -> String {
        "sha256-" + Data(HashFunction.sha256.digest(of: Array(text.utf8))).base64EncodedString()
    }

    // MARK: - The document

    var html: String {
        let plotted = report.tables.filter { $0.plot != nil }, others = report.tables.filter { $0.plot == nil }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(report.verdict.title) – \(escaped(report.host)) – receipt-gateway</title>
            <link rel="icon" href="data:,">
            <style>\(Self.style)</style>
            </head>
            <body data-version="\(escaped(Version.current))" data-host="\(escaped(report.host))">
            \(banner)
            <main>
            \(verdict)
            <div class="plots">
            \(plotted.map(section).joined(separator: "\n"))
            </div>
            <noscript><p class="note">Without JavaScript the plots stay empty: reload for current values.</p></noscript>
            <div class="tables">
            \(others.map(section).joined(separator: "\n"))
            </div>
            \(configuration)
            </main>
            \(footer)
            <script type="application/json" id="samples">\(samples)</script>
            <script>\(Self.script)</script>
            </body>
            </html>

            """
    }

    private var banner: String {
        """
        <header>
        <h1>receipt-gateway <span class="host">\(escaped(report.host))</span></h1>
        <p class="live"><span id="live">As of</span> <span id="clock">\(escaped(report.time.clockText))</span>
        <button type="button" id="pause" aria-pressed="false" hidden>Pause</button></p>
        </header>
        """
    }

    private var verdict: String {
        """
        <section id="verdict" data-tone="\(report.verdict.tone.rawValue)" aria-labelledby="word">
        <div role="status"><h2 id="word">\(report.verdict.title)</h2>
        <p id="summary">\(escaped(report.summary))</p></div>
        <ul id="issues">\(report.issues.map(item).joined())</ul>
        </section>
        """
    }

    private func item(_ result: StatusIssue) -> String {
        let link = result.runbook.map {
            " <a href=\"\(escaped($0.address))\" rel=\"noreferrer\">\(escaped($0.name))</a>"
        }
        return """
            <li data-severity="\(result.severity.rawValue)"><span class="severity">\(result.severity.rawValue)</span> \
            <strong>\(escaped(result.text))</strong> <span>\(escaped(result.advice))</span>\(link ?? "")</li>
            """
    }

    private var configuration: String {
        """
        <details>
        <summary>Configuration, secrets redacted</summary>
        <pre tabindex="0" role="region" aria-label="Configuration" id="configuration">\(escaped(configurationText))</pre>
        </details>
        """
    }

    private var footer: String {
        """
        <footer><p>receipt-gateway \(escaped(Version.current)) · <a href="/status.json">status.json</a> · \
        <a href="/metrics">metrics</a></p></footer>
        """
    }

    /// JSON inside HTML: `<`, which could end the element, is written as a JSON escape.
    private var samples: String {
        var json = JSONWriter(reservingCapacity: 32_768)
        json.samples(readings)
        return String(decoding: json.bytes, as: UTF8.self).replacing("<", with: "\\u003c")
    }

    // MARK: - Tables

    private func section(_ table: StatusTable) -> String {
        let name = table.heading.name
        let note = table.note.isEmpty ? "" : " <small>\(escaped(table.note))</small>"
        return """
            <section id="\(name)" aria-labelledby="\(name)-title">
            <h2 id="\(name)-title">\(escaped(table.heading.title))\(note)</h2>
            \(plot(table))<table>
            <caption class="unseen">\(escaped(table.heading.title))</caption>
            \(head(table))<tbody>
            \(table.rows.enumerated().map { row($1, in: table, line: table.plot == nil ? nil : $0) }.joined(separator: "\n"))
            </tbody></table></section>
            """
    }

    /// Returns the plot, drawn by the script. The table has its values too.
    private func plot(_ table: StatusTable) -> String {
        guard let plot = table.plot else { return "" }
        let lines = table.rows.map(\.heading.title).joined(separator: ", ")
        return """
            <svg class="plot" id="plot-\(plot.heading.name)" data-unit="\(plot.unit)" tabindex="0" \
            role="img" aria-label="\(escaped(table.heading.title)) in the last ten minutes: \(escaped(lines)). \
            The table below has the values; arrow keys select a moment."></svg>
            <p class="readout" id="readout-\(plot.heading.name)" aria-live="polite"></p>

            """
    }

    private func head(_ table: StatusTable) -> String {
        guard table.columns != StatusTable.onlyColumn else { return "" }
        let cells = table.columns.map { "<th scope=\"col\">\(escaped($0.title))</th>" }.joined()
        return "<thead><tr><td></td>\(cells)</tr></thead>\n"
    }

    private func row(_ row: StatusTable.Row, in table: StatusTable, line: Int?) -> String {
        let swatch = line.map {
            "<svg class=\"swatch\" viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"line\($0)\" d=\"M1 4H21\"/></svg>"
        }
        let cells = zip(table.columns, row.cells).map { column, cell in
            """
            <td id="\(escaped(table.identifier(row, column)))" data-tone="\(cell.tone.rawValue)">\(escaped(cell.value.text))</td>
            """
        }
        return "<tr><th scope=\"row\">\(swatch ?? "")\(escaped(row.heading.title))</th>\(cells.joined())</tr>"
    }

    /// Escapes text and double-quoted attribute values. By scalars: a character may combine such a scalar with a mark,
    /// and browsers see two scalars.
    private func escaped(_ text: String) -> String {
        let entities: [Unicode.Scalar: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"]
        return text.unicodeScalars.reduce(into: "") { html, scalar in html += entities[scalar] ?? String(scalar) }
    }
}
