// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The result of one load run: the file that `http` writes and that `report` and `compare` read, described in
/// `loadtest/schema.json`.
///
/// Times are milliseconds with fractions, moments are seconds since the first request was due, the warm-up included.
/// Answers of the warm-up are in the timeline only.
struct RunResult: Codable, Hashable, Sendable {
    /// The version of the format; a reader rejects any other.
    static let schema = 1

    var schema = Self.schema
    var kind = Kind.http
    var verdict: Verdict
    /// A sentence for each reason; none if the run passed.
    var verdictReasons: [String] = []
    var startedAt: Moment
    /// The duration without the warm-up.
    var durationSeconds: Double
    var plan: Plan
    var environment: Environment
    var generator: Generator
    var totals: Totals
    /// The time from which a request was due until its answer: the wait of a customer.
    var response: Distribution
    /// The time from which a request was sent until its answer: the work of the server.
    var service: Distribution
    /// The most frequent first.
    var outcomes: [Outcome] = []
    /// Answers by HTTP status.
    var statuses: [String: Int] = [:]
    /// Requests without an answer, by cause.
    var errors: [String: Int] = [:]
    /// A row for each second, in order.
    var timeline: [Second] = []
    var marks: [Mark] = []
    /// Scraped from the server.
    var metrics: [Series] = []
    var thresholds: [Threshold] = []

    enum Kind: String, Codable, Sendable {
        case http
    }

    enum Verdict: String, Codable, CaseIterable, Sendable {
        /// Every threshold was met, or there was none.
        case passed
        case thresholdMissed = "threshold_missed"
        /// The generator did not keep its schedule: the numbers are about the generator.
        case generatorOverloaded = "generator_overloaded"
        /// The operator ended the run; the numbers are of the time until then.
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
