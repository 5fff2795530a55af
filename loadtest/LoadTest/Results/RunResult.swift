// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one load run found: the file that `http` writes and that `report` and `compare` read, described for others in
/// `loadtest/schema.json`.
///
/// Times are milliseconds as fractions, moments are seconds since the first request was due, the warm-up included. What the
/// warm-up answered stands in the timeline and nowhere else.
struct RunResult: Codable, Hashable, Sendable {
    /// The version of this form; a reader refuses any other.
    static let schema = 1

    var schema = Self.schema
    var kind = Kind.http
    var verdict: Verdict
    /// Why, a sentence each; none if the run passed.
    var verdictReasons: [String] = []
    var startedAt: Moment
    /// How long was measured, without the warm-up.
    var durationSeconds: Double
    var plan: Plan
    var environment: Environment
    var generator: Generator
    var totals: Totals
    /// From the moment a request was due until its answer was there: what a customer waits.
    var response: Distribution
    /// From the moment a request was sent until its answer was there: what the server took.
    var service: Distribution
    /// In how many ways requests ended, the most frequent first.
    var outcomes: [Outcome] = []
    /// Answers by HTTP status.
    var statuses: [String: Int] = [:]
    /// Requests without an answer, by what went wrong.
    var errors: [String: Int] = [:]
    /// A row for each second, in order.
    var timeline: [Second] = []
    var marks: [Mark] = []
    /// What was scraped meanwhile.
    var metrics: [Series] = []
    var thresholds: [Threshold] = []

    /// What was pressed on.
    enum Kind: String, Codable, Sendable {
        case http
    }

    enum Verdict: String, Codable, CaseIterable, Sendable {
        /// Every threshold was met, or there was none.
        case passed
        case thresholdMissed = "threshold_missed"
        /// The generator could not send when it should have: the numbers are about the generator.
        case generatorOverloaded = "generator_overloaded"
        /// Somebody ended the run; the numbers are of what was done until then.
        case interrupted
    }

    private enum CodingKeys: String, CodingKey {
        case schema, kind, verdict, plan, environment, generator, totals, response, service, outcomes, statuses, errors
        case timeline, marks, metrics, thresholds
        case verdictReasons = "verdict_reasons"
        case startedAt = "started_at"
        case durationSeconds = "duration_seconds"
    }
}
