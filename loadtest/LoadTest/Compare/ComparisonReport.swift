// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `compare --format json` prints.
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

    /// Which run it was.
    struct Run: Encodable, Sendable {
        let title: String
        let verdict: RunResult.Verdict
        let startedAt: RunResult.Moment
        let durationSeconds: Double

        init(_ result: RunResult) {
            (title, verdict) = (result.plan.title, result.verdict)
            (startedAt, durationSeconds) = (result.startedAt, result.durationSeconds)
        }

        private enum CodingKeys: String, CodingKey {
            case title, verdict
            case startedAt = "started_at"
            case durationSeconds = "duration_seconds"
        }
    }

    init(_ comparison: RunComparison) {
        (a, b) = (Run(comparison.a), Run(comparison.b))
        (headline, warnings) = (comparison.headline, comparison.warnings)
        (planDifferences, environmentDifferences) = (comparison.planDifferences, comparison.environmentDifferences)
        figures = comparison.figures
    }

    private enum CodingKeys: String, CodingKey {
        case schema, kind, a, b, headline, warnings, figures
        case planDifferences = "plan_differences"
        case environmentDifferences = "environment_differences"
    }
}
