// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The timeline in rows that can be read.
struct StepTable: Sendable {
    private let steps: TimeSteps

    /// More rows would be for a program, and it has the JSON.
    static let rows = 60

    init(_ result: RunResult) {
        steps = TimeSteps(result.timeline, atMost: Self.rows)
    }

    var rate: DataTable {
        table(["target /s", "sent /s", "answered /s", "failed /s", "shed /s"]) { step in
            [step.target, step.sent, step.answered, step.failed, step.shed].map { Self.count($0) }
        }
    }

    var latency: DataTable {
        table(["p50 ms", "p90 ms", "p99 ms", "max ms"]) { step in
            [step.p50, step.p90, step.p99, step.maximum].map { figure in
                .text(figure.map { $0.grouped(max(1, $0.usefulDecimals)) } ?? "–")
            }
        }
    }

    func outcomes(_ names: [String]) -> DataTable {
        table(names.map { DataTable.Column(stringLiteral: OutcomeNames.words(for: $0) + " /s") }) { step in
            names.map { Self.count(step.count(of: $0)) }
        }
    }

    private func table(_ columns: [DataTable.Column], _ cells: (TimeSteps.Step) -> [Markup]) -> DataTable {
        let width = steps.width
        let caption = width == 1 ? "Each second" : "Each \(width) seconds: counts on average, latencies at their worst"
        return DataTable(
            caption: caption, columns: ["second"] + columns,
            rows: steps.steps.map { step in [.text(Int(step.start).grouped)] + cells(step) })
    }

    private static func count(_ count: Double?) -> Markup { .text(count.map { $0.grouped(0) } ?? "–") }
}
