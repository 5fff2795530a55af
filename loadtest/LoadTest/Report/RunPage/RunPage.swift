// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The HTML page of one run. The same result makes the same page.
struct RunPage: Sendable {
    let result: RunResult
    let plots: RunPlots

    init(_ result: RunResult) {
        self.result = result
        plots = RunPlots(result)
    }

    func html() throws -> String {
        let footer =
            "receipt-loadtest \(result.environment.version) · schema \(result.schema) · \(result.startedAt)"
        return Page.html(
            title: "\(result.headline): \(result.plan.title)",
            """
            \(header)\(keyFigures)\(thresholds)\(latency)\(overTime)\(outcomes)\(generator)
            \(server)\(plan)\(environment)\(raw)
            <script type="application/json" id="result">\(json: try JSONOutput.compact(result))</script>
            <footer>\(footer)</footer>
            """)
    }

    private var header: HTML {
        let look: (style: HTML, sign: HTML) =
            switch result.verdict {
            case .passed: ("good", "✓")
            case .thresholdMissed: ("bad", "✕")
            case .generatorOverloaded, .interrupted: ("caution", "!")
            }
        let description: HTML? = result.plan.description.map { "<p class=\"lead\">\($0)</p>" }
        return Page.header(
            "Load test · \(result.plan.title)", style: look.style, sign: look.sign, result.headline,
            verdict: result.verdict.rawValue, reasons: result.verdictReasons,
            "<p class=\"lead\">\(result.sentence)</p>\n\(description)")
    }

    // MARK: - Key figures

    private var keyFigures: HTML {
        let totals = result.totals, response = result.response, service = result.service
        let wanted = totals.targetPerSecond.map { "of \($0.rateText) wanted" } ?? "in a closed loop"
        let rate = HTML.value("totals.achieved_per_second", totals.achievedPerSecond, \.rateText)
        return """
            <section class="tiles" aria-label="Key figures"><dl>
            \(tile("Answered", rate, unit: " /s", "\(wanted)"))\
            \(latency("Median response", "response.p50_ms", response.p50, service.p50))\
            \(latency("p99 response", "response.p99_ms", response.p99, service.p99))\
            \(latency("Slowest response", "response.max_ms", response.maximum, service.maximum))\
            \(share("Failed", "totals.failed", totals.failed, totals.unanswered))\
            \(share("Shed", "totals.shed", totals.shed, 0))</dl></section>

            """
    }

    private func tile(_ name: HTML, _ figure: HTML, unit: HTML? = nil, _ aside: HTML) -> HTML {
        """
        <div class="tile"><dt>\(name)</dt><dd><div class="figure">\(figure)<span class="unit">\(unit)</span></div>
        <div class="aside">\(aside)</div></dd></div>

        """
    }

    private func latency(_ name: HTML, _ path: String, _ response: Double?, _ service: Double?) -> HTML {
        let aside = service.map { "service \($0.significant) ms" } ?? "nothing was answered"
        return tile(name, .value(path, response), unit: response == nil ? nil : " ms", "\(aside)")
    }

    /// The share of requests without a good answer.
    private func share(_ name: HTML, _ path: String, _ count: Int, _ unanswered: Int) -> HTML {
        let sent = result.totals.sent
        let percent = sent > 0 ? (Double(count + unanswered) / Double(sent)).percentText : "–"
        let more: HTML? = unanswered > 0 ? " and \(.count("totals.unanswered", unanswered)) unanswered" : nil
        return tile(name, "\(percent)", "\(.count(path, count))\(more) of \(.count("totals.sent", sent))")
    }

    // MARK: - Thresholds and latency

    private var thresholds: HTML? {
        guard !result.thresholds.isEmpty else { return nil }
        let rows = result.thresholds.enumerated().map { index, threshold -> [HTML] in
            [
                Page.code(threshold.expression),
                .value("thresholds.\(index).measured", threshold.measured, threshold.text),
                threshold.met ? #"<span class="good">✓ met</span>"# : #"<span class="bad">✕ missed</span>"#,
            ]
        }
        let table = DataTable(columns: ["threshold", "measured", "verdict"], words: [0, 2], rows: rows, isSnug: true)
        return Page.section("thresholds", "Thresholds", table.html)
    }

    private var latency: HTML {
        let response = result.response, service = result.service
        let rows = RunResult.Distribution.figures.map { figure -> [HTML] in
            let path = figure.key.rawValue
            return [
                .text(figure.words),
                .value("response.\(path)", response[keyPath: figure.path], response.text),
                .value("service.\(path)", service[keyPath: figure.path], service.text),
            ]
        }
        let counts: [HTML] = [
            "answers", .count("response.count", response.count), .count("service.count", service.count),
        ]
        let table = DataTable(columns: ["ms", "response", "service"], rows: rows + [counts])
        return Page.section(
            "latency-section", "Latency",
            Page.note(
                """
                Response time counts from the moment a request was due, so the wait for a stalled server is included. \
                Service time counts from the moment the request was sent.
                """), "<div class=\"beside\">\(table.html)\(plots.percentiles.html)</div>")
    }

    // MARK: - Over time

    private var overTime: HTML? {
        guard !result.timeline.isEmpty else { return nil }
        return Page.section("time", "Over time", plots.rate.html, plots.latency.html, plots.outcomes.html, marks)
    }

    /// All marks, also marks without room for their names in the plots.
    private var marks: HTML? {
        guard !result.marks.isEmpty else { return nil }
        let rows = result.marks.enumerated().map { index, mark -> [HTML] in
            [.value("marks.\(index).at_seconds", mark.atSeconds) { $0.grouped(1) }, .text(mark.text)]
        }
        let table = DataTable(columns: ["second", "event"], words: [1], rows: rows, isSnug: true)
        return "<figure id=\"marks\"><h3>Marks</h3>\(table.html)</figure>"
    }

    private var raw: HTML {
        Page.section(
            "raw", "Result as JSON",
            Page.note(
                """
                The element script#result holds the whole result as JSON; loadtest/schema.json describes it. \
                The attribute “value” of a number is its unrounded value, “data-path” its path in the result.
                """))
    }
}

extension RunResult.Plan {
    var title: String { name ?? url }
}

extension RunResult.Threshold {
    fileprivate func text(_ number: Double) -> String {
        number.significant + (unit.isEmpty || unit.hasPrefix("/") ? "" : " ") + unit
    }
}

extension Double {
    /// Requests per second: no decimals from 100 on.
    fileprivate var rateText: String { magnitude >= 100 ? grouped(0) : significant }
}

extension RunResult {
    /// The verdict in a few words: `Passed: all 2 thresholds were met`.
    var headline: String {
        let missed = thresholds.count { !$0.met }, all = thresholds.count
        return switch verdict {
        case .passed where all == 0: "Passed: it had no threshold"
        case .passed: all == 1 ? "Passed: its threshold was met" : "Passed: all \(all) thresholds were met"
        case .thresholdMissed: "Failed: \(missed) of \(all) thresholds missed"
        case .generatorOverloaded: "No verdict: the generator could not keep up"
        case .interrupted: "Interrupted after \(durationSeconds.rounded(toDecimals: 2).plain) seconds"
        }
    }

    /// `2,000 requests per second for 30 s, in an open loop, against http://…`.
    var sentence: String {
        let seconds = (plan.seconds ?? durationSeconds).rounded(toDecimals: 2).plain
        let loop = plan.loop == .open ? "in an open loop" : "in a closed loop"
        return
            "\(plan.load) for \(seconds) s, \(loop) over \(plan.connections.grouped) connections, against \(plan.url)."
    }
}

extension RunResult.Plan {
    var load: String {
        guard loop == .open, let first = stages.first else { return "As fast as it was answered" }
        let rates = stages.flatMap { [$0.fromPerSecond, $0.toPerSecond] }
        if rates.allSatisfy({ $0 == first.fromPerSecond }) { return "\(first.fromPerSecond.plain) requests per second" }
        return "\((rates.min() ?? 0).plain) to \((rates.max() ?? 0).plain) requests per second"
    }
}

enum OutcomeNames {
    private static let known: [(outcome: String, words: String, hue: Hue)] = [
        ("hit_near", "near-cache hit", .near), ("hit_shared", "shared-cache hit", .shared),
        ("local", "verified locally", .local), ("upstream", "asked Apple", .upstream),
        ("collapsed", "coalesced", .collapsed), ("stale", "stale", .stale), ("answered", "answered", .near),
        ("rejected", "rejected", .rejected), ("undecided", "undecided", .undecided), ("refused", "refused", .refused),
        ("shed", "shed (429)", .shed), ("failed", "failed", .failure), ("error", "error", .failure),
    ]

    /// Returns the known outcomes in their order, then unknown outcomes by name.
    static func ordered(_ outcomes: some Sequence<String>) -> [String] {
        let given = Set(outcomes), names = known.map(\.outcome)
        return names.filter(given.contains) + given.subtracting(names).sorted()
    }

    /// Returns the words for readers; an unknown outcome is its own name.
    static func words(for outcome: String) -> String { known.first { $0.outcome == outcome }?.words ?? outcome }

    /// Returns a colour for each outcome; unknown outcomes take turns with the colours that are left.
    static func hues(for outcomes: [String]) -> [Hue] {
        let hues = outcomes.map { outcome in known.first { $0.outcome == outcome }?.hue }
        let free = Hue.others.filter { !hues.contains($0) }
        var spare = Array(repeating: free.isEmpty ? Hue.others : free, count: outcomes.count).joined().makeIterator()
        return hues.map { $0 ?? spare.next() ?? .near }
    }
}
