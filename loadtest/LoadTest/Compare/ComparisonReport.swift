// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The output of `compare --format json`.
struct ComparisonReport: Encodable, Sendable {
    let schema = 1
    let kind = "comparison"
    let a: Run
    let b: Run
    let headline: String
    let warnings: [String]
    let planDifferences: [RunComparison.Difference]
    let environmentDifferences: [RunComparison.Difference]
    let figures: [ComparedFigure]

    struct Run: Encodable, Sendable {
        let title: String
        let verdict: RunResult.Verdict
        let startedAt: RunResult.Moment
        let durationSeconds: Double

        init(_ result: RunResult) {
            title = result.plan.title
            verdict = result.verdict
            startedAt = result.startedAt
            durationSeconds = result.durationSeconds
        }

        private enum CodingKeys: String, CodingKey {
            case title, verdict
            case startedAt = "started_at"
            case durationSeconds = "duration_seconds"
        }
    }

    init(_ comparison: RunComparison) {
        a = Run(comparison.a)
        b = Run(comparison.b)
        headline = comparison.headline
        warnings = comparison.warnings
        planDifferences = comparison.planDifferences
        environmentDifferences = comparison.environmentDifferences
        figures = comparison.figures
    }

    private enum CodingKeys: String, CodingKey {
        case schema, kind, a, b, headline, warnings, figures
        case planDifferences = "plan_differences"
        case environmentDifferences = "environment_differences"
    }
}
