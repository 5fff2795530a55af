// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Whether the generator can be believed.
struct GeneratorSection: Sendable {
    private let result: RunResult
    private let plots: RunPlots

    init(_ result: RunResult, _ plots: RunPlots) {
        self.result = result
        self.plots = plots
    }

    var markup: Markup {
        let generator = result.generator
        return Page.section(
            "generator", "The generator itself",
            .tag(
                "p", ["class": generator.keptSchedule ? "good" : "bad"],
                .text(generator.keptSchedule ? "✓ It kept its schedule." : "✕ It did not keep its schedule.")),
            .tag("div", ["class": "beside"], facts, result.timeline.isEmpty ? .nothing : lag))
    }

    private var lag: Markup {
        var figure = plots.sendLag
        figure.frames = [.low, .narrow]
        figure.isFirst = true
        return figure.markup
    }

    private var facts: Markup {
        let generator = result.generator
        return Page.facts([
            (
                "late sends",
                [.count("generator.late_sends", generator.lateSends), " of ", .text(result.totals.sent.grouped)]
            ),
            ("send lag p50", lag("p50_ms", generator.sendLag.p50)),
            ("send lag p99", lag("p99_ms", generator.sendLag.p99)),
            ("send lag max", lag("max_ms", generator.sendLag.maximum)),
            (
                "processor time",
                [.value("generator.cpu_seconds", generator.cpuSeconds, generator.cpuSeconds.significant), " s"]
            ),
            (
                "share of its cores",
                [
                    .value("generator.cpu_share", generator.cpuShare, (generator.cpuShare * 100).fixed(0)), " % of ",
                    .count("plan.workers", result.plan.workers), result.plan.workers == 1 ? " worker" : " workers",
                ]
            ),
        ])
    }

    private func lag(_ key: String, _ figure: Double?) -> Markup {
        [.value("generator.send_lag.\(key)", figure, figure?.significant ?? "–"), figure == nil ? "" : " ms"]
    }
}
