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

// MARK: - Plan and machine

extension RunResult {
    struct Plan: Codable, Hashable, Sendable {
        var name: String?
        var description: String?
        var url: String
        var loop: Loop
        var arrival: ArrivalPattern
        /// Rates in their order; none in a closed loop.
        var stages: [Stage] = []
        var warmupSeconds: Double
        var connections: Int
        var workers: Int
        /// The number of distinct receipts.
        var keys: Int
        /// The exponent of their popularity: 0 if all are equal, 1 for Zipf's law.
        var zipf: Double
        /// The share of each kind of request; together 1.
        var mix: [String: Double] = [:]
        var seed: UInt64
        var timeoutMilliseconds: Double

        private enum CodingKeys: String, CodingKey {
            case name, description, url, loop, arrival, stages, connections, workers, keys, zipf, mix, seed
            case warmupSeconds = "warmup_seconds"
            case timeoutMilliseconds = "timeout_ms"
        }

        /// The planned duration without the warm-up; nil in a closed loop.
        var seconds: Double? { loop == .open && !stages.isEmpty ? stages.map(\.seconds).reduce(0, +) : nil }
    }

    enum Loop: String, Codable, Sendable {
        /// Requests are sent when they are due, whether or not earlier ones are answered.
        case open
        /// Each connection waits for an answer before its next request.
        case closed
    }

    /// A rate, or a ramp from one to another.
    struct Stage: Codable, Hashable, Sendable {
        var fromPerSecond, toPerSecond, seconds: Double

        private enum CodingKeys: String, CodingKey {
            case fromPerSecond = "from_per_second"
            case toPerSecond = "to_per_second"
            case seconds
        }
    }

    /// The time in seconds at which the last request was due, warm-up included. Answers may come after it.
    var lastDue: Double { plan.warmupSeconds + min(durationSeconds, plan.seconds ?? durationSeconds) }

    /// The machine and the program that sent the requests.
    struct Environment: Codable, Hashable, Sendable {
        /// Of this program.
        var version: String
        /// The commit it was built from, if known.
        var revision: String?
        /// The command line, without values of headers: they may be secret.
        var arguments: [String]
        var cpu: String
        /// The cores of the machine, and those that this process may use.
        var cores: Int
        var allowedCores: [Int]
        var kernel: String
        var memoryBytes: Int

        private enum CodingKeys: String, CodingKey {
            case version, revision, arguments, cpu, cores, kernel
            case allowedCores = "allowed_cores"
            case memoryBytes = "memory_bytes"
        }
    }

    /// The quality of the generator's own work.
    struct Generator: Codable, Hashable, Sendable {
        var keptSchedule: Bool
        /// The time from which a request was due until it was sent.
        var sendLag: Distribution
        /// The number of requests that were sent too late.
        var lateSends: Int
        var cpuSeconds: Double
        /// The share of one core for each worker; at 1 it has no more to give.
        var cpuShare: Double

        private enum CodingKeys: String, CodingKey {
            case keptSchedule = "kept_schedule"
            case sendLag = "send_lag"
            case lateSends = "late_sends"
            case cpuSeconds = "cpu_seconds"
            case cpuShare = "cpu_share"
        }
    }
}
