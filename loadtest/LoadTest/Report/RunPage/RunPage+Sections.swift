// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunPage {
    // MARK: - Outcomes

    var outcomes: HTML {
        let errors = counts("errors", result.errors, "error", none: "No request went without an answer.")
        let statuses = counts("statuses", result.statuses, "HTTP status", none: "No answer had an HTTP status.")
        let totals = result.totals
        return Page.section(
            "outcomes", "Outcomes", result.outcomes.isEmpty ? Page.note("Nothing was answered.") : outcomeTable,
            "<div class=\"pair\">\(statuses)\(errors)</div>",
            Page.note(
                """
                \(.count("totals.intended", totals.intended)) requests were due, \(.count("totals.sent", totals.sent)) \
                were sent, \(.count("totals.answered", totals.answered)) answered; \
                \(totals.sentBytes.bytesText) sent, \(totals.receivedBytes.bytesText) received.
                """))
    }

    private var outcomeTable: HTML {
        let all = result.outcomes.map(\.count).reduce(0, +)
        let names = OutcomeNames.ordered(result.outcomes.map(\.outcome))
        let hues = Dictionary(zip(names, OutcomeNames.hues(for: names))) { first, _ in first }
        let figures = RunResult.Distribution.figures.filter { [.p50, .p90, .p99, .maximum].contains($0.key) }
        let rows = result.outcomes.enumerated().map { index, outcome -> [HTML] in
            let path = "outcomes.\(index)", share = all > 0 ? Double(outcome.count) / Double(all) : 0
            let latencies = figures.map { figure -> HTML in
                let path = "\(path).response.\(figure.key.rawValue)"
                return .value(path, outcome.response[keyPath: figure.path], result.response.text)
            }
            let name = OutcomeNames.words(for: outcome.outcome), hue = hues[outcome.outcome] ?? .near
            return [
                .text(name), .count("\(path).count", outcome.count), .text(share.percentText), Self.bar(share, hue),
            ] + latencies
        }
        return DataTable(
            columns: ["outcome", "requests", "share", "", "p50 ms", "p90 ms", "p99 ms", "max ms"], rows: rows
        ).html
    }

    private static func bar(_ share: Double, _ hue: Hue) -> HTML {
        """
        <svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">\
        <rect class="fill-\(hue)" width="\(max(0.6, share * 100))" height="10"/></svg>
        """
    }

    private func counts(_ path: String, _ counts: [String: Int], _ name: String, none: HTML) -> HTML {
        let rows = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count -> [HTML] in
            [.text(name), .count("\(path).\(name)", count)]
        }
        let table = DataTable(columns: [name, "requests"], rows: rows)
        return "<div>\(rows.isEmpty ? Page.note(none) : table.html)</div>"
    }

    // MARK: - Generator

    var generator: HTML {
        let generator = result.generator, workers = result.plan.workers
        func lag(_ key: String, _ figure: Double?) -> HTML {
            "\(.value("generator.send_lag.\(key)", figure))\(figure == nil ? nil : " ms")"
        }
        let facts = Page.facts([
            "late sends": "\(.count("generator.late_sends", generator.lateSends)) of \(result.totals.sent.grouped)",
            "send lag p50": lag("p50_ms", generator.sendLag.p50), "send lag p99": lag("p99_ms", generator.sendLag.p99),
            "send lag max": lag("max_ms", generator.sendLag.maximum),
            "CPU time": "\(.value("generator.cpu_seconds", generator.cpuSeconds)) s",
            "CPU share": """
            \(.value("generator.cpu_share", generator.cpuShare) { ($0 * 100).fixed(0) }) % of \
            \(.count("plan.workers", workers))\(workers == 1 ? " worker" : " workers" as HTML)
            """,
        ])
        return Page.section(
            "generator", "Load generator",
            generator.keptSchedule
                ? #"<p class="good">✓ It kept its schedule.</p>"#
                : #"<p class="bad">✕ It did not keep its schedule.</p>"#,
            "<div class=\"beside\">\(facts)\(result.timeline.isEmpty ? nil : plots.sendLag.html)</div>")
    }

    // MARK: - Plan and environment

    var plan: HTML {
        let plan = result.plan
        let mix = plan.mix.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            "\($0.key) \($0.value.percentText)"
        }
        let facts = Page.facts([
            "address": Page.code(plan.url),
            "loop": plan.loop == .open
                ? "open: requests are sent when they are due" : "closed: each request waits for the answer before it",
            "arrivals": plan.arrival == .constant ? "evenly spaced" : "random (Poisson)",
            "warm-up": "\(.value("plan.warmup_seconds", plan.warmupSeconds, \.plain)) s",
            "connections": .count("plan.connections", plan.connections),
            "workers": .count("plan.workers", plan.workers),
            "distinct receipts": """
            \(.count("plan.keys", plan.keys)), \(plan.zipf > 0 ? "Zipf \(plan.zipf.plain)" : "equally popular")
            """,
            "mix": .text(mix.isEmpty ? "–" : mix.joined(separator: ", ")),
            "seed": .text(plan.seed),
            "timeout": "\(.value("plan.timeout_ms", plan.timeoutMilliseconds, \.plain)) ms",
        ])
        return Page.section("plan", "Plan", facts, stages)
    }

    private var stages: HTML? {
        let rows = result.plan.stages.enumerated().map { index, stage -> [HTML] in
            let path = "plan.stages.\(index)"
            return [
                .text(index + 1), .value("\(path).from_per_second", stage.fromPerSecond, \.plain),
                .value("\(path).to_per_second", stage.toPerSecond, \.plain),
                .value("\(path).seconds", stage.seconds, \.plain),
            ]
        }
        let table = DataTable(columns: ["stage", "from /s", "to /s", "seconds"], rows: rows, isSnug: true)
        return rows.isEmpty ? nil : table.html
    }

    var environment: HTML {
        let environment = result.environment, cores = environment.allowedCores.map(String.init)
        return Page.section(
            "environment", "Environment",
            Page.facts([
                "started": .text(result.startedAt),
                "measured":
                    "\(.value("duration_seconds", result.durationSeconds) { $0.rounded(toDecimals: 3).plain }) s",
                "program": "receipt-loadtest \(environment.version)",
                "revision": environment.revision.map(Page.code) ?? "unknown",
                "command": Page.code(environment.arguments.map(\.shellWord).joined(separator: " ")),
                "processor": .text(environment.cpu),
                "cores": """
                \(.count("environment.cores", environment.cores)), \
                allowed: \(cores.isEmpty ? "unknown" : cores.joined(separator: ", "))
                """,
                "memory": .text(environment.memoryBytes.bytesText),
                "kernel": .text(environment.kernel),
            ]))
    }
}

extension RunResult.Distribution {
    /// Returns a figure with the same number of decimals as the other figures of its column.
    func text(_ figure: Double) -> String { figure.grouped(max(1, (p50 ?? 0).usefulDecimals)) }
}

extension Int {
    /// `12.3 MB`, of a million bytes each.
    var bytesText: String {
        for (size, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] where Double(self) >= size {
            return (Double(self) / size).significant + " " + unit
        }
        return "\(self) bytes"
    }
}
