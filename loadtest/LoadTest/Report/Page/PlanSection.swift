// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What was asked for, and where it ran.
struct PlanSection: Sendable {
    private let plan: RunResult.Plan

    init(_ result: RunResult) {
        plan = result.plan
    }

    var markup: Markup {
        Page.section("plan", "The plan", Page.facts(facts), stages)
    }

    private var facts: [(String, Markup)] {
        [
            ("address", .tag("span", ["class": "code"], .text(plan.url))),
            (
                "loop",
                plan.loop == .open ? "open: requests leave when they are due" : "closed: each waits for the one before"
            ),
            ("arrivals", plan.arrival == .constant ? "evenly spaced" : "at random (Poisson)"),
            ("warm-up", [.value("plan.warmup_seconds", plan.warmupSeconds, plan.warmupSeconds.plain), " s"]),
            ("connections", .count("plan.connections", plan.connections)),
            ("workers", .count("plan.workers", plan.workers)),
            ("distinct receipts", [.count("plan.keys", plan.keys), .text(popularity)]),
            ("mix", .text(mix)),
            ("seed", .text("\(plan.seed)")),
            ("timeout", [.value("plan.timeout_ms", plan.timeoutMilliseconds, plan.timeoutMilliseconds.plain), " ms"]),
        ]
    }

    private var popularity: String { plan.zipf > 0 ? ", Zipf \(plan.zipf.plain)" : ", equally popular" }

    private var mix: String {
        let parts = plan.mix.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return parts.isEmpty ? "–" : parts.map { "\($0.key) \($0.value.percentText)" }.joined(separator: ", ")
    }

    private var stages: Markup {
        guard !plan.stages.isEmpty else { return .nothing }
        let rows = plan.stages.enumerated().map { index, stage -> [Markup] in
            let place = "plan.stages.\(index)"
            return [
                .text("\(index + 1)"),
                .value("\(place).from_per_second", stage.fromPerSecond, stage.fromPerSecond.plain),
                .value("\(place).to_per_second", stage.toPerSecond, stage.toPerSecond.plain),
                .value("\(place).seconds", stage.seconds, stage.seconds.plain),
            ]
        }
        return DataTable(columns: [.word("stage"), "from /s", "to /s", "seconds"], rows: rows, isSnug: true).markup
    }
}
