// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// One run on a page that needs nothing else.
struct RunPage: Sendable {
    let result: RunResult
    private let plots: RunPlots

    init(_ result: RunResult) {
        self.result = result
        plots = RunPlots(result)
    }

    /// The same for the same result.
    func html() throws -> String {
        let headline = VerdictHeadline(result)
        return Page.html(
            title: "\(headline.words): \(result.plan.title)",
            [
                headline.markup, KeyFigures(result).markup, thresholds, latency, overTime,
                OutcomeSection(result).markup, GeneratorSection(result, plots).markup,
                ServerSection(result, plots).markup,
                PlanSection(result).markup, EnvironmentSection(result).markup, raw,
                .json(id: "result", try JSONText.compact(result)), footer,
            ])
    }

    private var thresholds: Markup {
        guard !result.thresholds.isEmpty else { return .nothing }
        let rows = result.thresholds.enumerated().map { index, threshold -> [Markup] in
            [
                .tag("span", ["class": "code"], .text(threshold.expression)),
                .value("thresholds.\(index).measured", threshold.measured, threshold.measuredText),
                .tag("span", ["class": threshold.met ? "good" : "bad"], threshold.met ? "✓ met" : "✕ missed"),
            ]
        }
        return Page.section(
            "thresholds", "Thresholds",
            DataTable(columns: [.word("wanted"), "measured", .word("verdict")], rows: rows, isSnug: true).markup)
    }

    private var latency: Markup {
        Page.section(
            "latency-section", "Latency",
            Page.note(
                """
                Response counts from the moment a request was due, so a server that stalls is charged for everyone who \
                waits. Service counts from the moment it was sent.
                """),
            .tag("div", ["class": "beside"], LatencyTable(result).markup, plots.percentiles.markup))
    }

    private var overTime: Markup {
        guard !result.timeline.isEmpty else { return .nothing }
        return Page.section(
            "time", "Over time", plots.rate.markup, plots.latency.markup, plots.outcomes.markup, marks)
    }

    /// Also those whose names had no room in the plots.
    private var marks: Markup {
        guard !result.marks.isEmpty else { return .nothing }
        let rows = result.marks.enumerated().map { index, mark -> [Markup] in
            [.value("marks.\(index).at_seconds", mark.atSeconds, mark.atSeconds.grouped(1)), .text(mark.text)]
        }
        return .tag(
            "figure", ["id": "marks", "class": "later"], .tag("h3", [:], "Marks"),
            DataTable(columns: ["second", .word("what happened")], rows: rows, isSnug: true).markup)
    }

    private var raw: Markup {
        Page.section(
            "raw", "The result itself",
            Page.note(
                """
                This page holds the whole result as JSON, in its element script#result; loadtest/schema.json describes it. \
                Numbers carry their unrounded value in the attribute “value”, and their place in the result in “data-path”.
                """))
    }

    private var footer: Markup {
        .tag(
            "footer", [:],
            "receipt-loadtest \(result.environment.version) · schema \(result.schema) · \(result.startedAt)")
    }
}

extension RunResult.Plan {
    /// Its name, or what was pressed on.
    var title: String { name ?? url }
}

extension RunResult.Threshold {
    /// `12.3 ms`.
    var measuredText: String {
        guard let measured else { return "–" }
        let space = unit.isEmpty || unit.hasPrefix("/") ? "" : " "
        return measured.significant + space + unit
    }
}
