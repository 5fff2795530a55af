// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The result of one load run: the file that `http` writes and that `report` and `compare` read.
/// `loadtest/schema.json` describes its members.
///
/// Answers of the warm-up are in the timeline only.
struct RunResult: Codable, Hashable, Sendable {
    /// The version of the format; a reader rejects any other.
    static let schema = 1

    var schema = Self.schema
    var kind = Kind.http
    var verdict: Verdict
    var verdictReasons: [String] = []
    var startedAt: Moment
    var durationSeconds: Double
    var plan: Plan
    var environment: Environment
    var generator: Generator
    var totals: Totals
    /// The time from which a request was due until its answer: the wait of a customer.
    var response: Distribution
    /// The time from which a request was sent until its answer: the work of the server.
    var service: Distribution
    var outcomes: [Outcome] = []
    var statuses: [String: Int] = [:]
    var errors: [String: Int] = [:]
    var timeline: [Second] = []
    var marks: [Mark] = []
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
}

enum RunResultLimits {
    /// Of the timeline, and of the points of a series: a day.
    static let seconds = 86_400
    static let points = 86_400
    static let series = 2000
}

// MARK: - Plan and machine

extension RunResult {
    struct Plan: Codable, Hashable, Sendable {
        var name: String?
        var description: String?
        var url: String
        var loop: Loop
        var arrival: ArrivalPattern
        var stages: [Stage] = []
        var warmupSeconds: Double
        var connections: Int
        var workers: Int
        var keys: Int
        var zipf: Double
        var mix: [String: Double] = [:]
        var seed: UInt64
        var timeoutMs: Double

        /// The planned duration without the warm-up; nil in a closed loop.
        var seconds: Double? { loop == .open && !stages.isEmpty ? stages.map(\.seconds).reduce(0, +) : nil }
    }

    enum Loop: String, Codable, Sendable {
        case open, closed
    }

    /// A rate, or a ramp between two rates.
    struct Stage: Codable, Hashable, Sendable {
        var fromPerSecond, toPerSecond, seconds: Double
    }

    /// The time in seconds at which the last request was due, warm-up included. Answers may come after it.
    var lastDue: Double { plan.warmupSeconds + min(durationSeconds, plan.seconds ?? durationSeconds) }

    /// The machine and the program that sent the requests.
    struct Environment: Codable, Hashable, Sendable {
        var version: String
        var arguments: [String]
        var cpu: String
        var cores: Int
        var allowedCores: [Int]
        var kernel: String
        var memoryBytes: Int
    }

    /// The quality of the generator's own work.
    struct Generator: Codable, Hashable, Sendable {
        var keptSchedule: Bool
        var sendLag: Distribution
        var lateSends: Int
        var cpuSeconds: Double
        var cpuShare: Double
    }

    /// Requests that were due after the warm-up, by their ends.
    struct Totals: Codable, Hashable, Sendable {
        var intended: Int
        var sent: Int
        /// Answers about the receipt.
        var answered: Int
        /// Answers that are errors, and connections that broke.
        var failed: Int
        var shed: Int
        /// Requests without an answer at their timeout or at the end of the run.
        var unanswered: Int
        var targetPerSecond: Double?
        var achievedPerSecond: Double
        var sentBytes, receivedBytes: Int
    }

    struct Outcome: Codable, Hashable, Sendable {
        var outcome: String
        var count: Int
        var response: Distribution
    }

    struct Threshold: Codable, Hashable, Sendable {
        var expression: String
        var measured: Double?
        var unit: String
        var met: Bool
    }

    /// A distribution of times in milliseconds; the figures are nil if there were none.
    struct Distribution: Codable, Hashable, Sendable {
        var count = 0
        @NullIfAbsent var meanMs: Double? = nil
        @NullIfAbsent var minMs: Double? = nil
        @NullIfAbsent var maxMs: Double? = nil
        @NullIfAbsent var p50Ms: Double? = nil
        @NullIfAbsent var p75Ms: Double? = nil
        @NullIfAbsent var p90Ms: Double? = nil
        @NullIfAbsent var p95Ms: Double? = nil
        @NullIfAbsent var p99Ms: Double? = nil
        @NullIfAbsent var p99_9Ms: Double? = nil
        @NullIfAbsent var p99_99Ms: Double? = nil
        var percentiles: [Point] = []
    }

    struct Second: Codable, Hashable, Sendable {
        var second: Int
        @NullIfAbsent var target: Double? = nil
        var sent = 0
        var answered = 0
        var failed = 0
        var shed = 0
        /// Of the response; nil if no answer came.
        @NullIfAbsent var p50Ms: Double? = nil
        @NullIfAbsent var p90Ms: Double? = nil
        @NullIfAbsent var p99Ms: Double? = nil
        @NullIfAbsent var maxMs: Double? = nil
        /// Nil if nothing was sent.
        @NullIfAbsent var sendLagP99Ms: Double? = nil
        var outcomes: [String: Int] = [:]
    }

    /// An event at a moment of the run.
    struct Mark: Codable, Hashable, Sendable {
        var atSeconds: Double
        var text: String
    }

    struct Series: Codable, Hashable, Sendable {
        var name: String
        var labels: [String: String] = [:]
        var kind: Kind
        var unit: String?
        var points: [Point]

        enum Kind: String, Codable, Sendable {
            case counter, gauge
        }
    }

    /// Two numbers, written as `[x, y]`.
    typealias Point = SIMD2<Double>

    /// A point in time, written as RFC 3339 in UTC: `2026-11-21T18:26:32Z`.
    struct Moment: Hashable, Sendable {
        let secondsSince1970: Int

        static var now: Moment { Moment(secondsSince1970: Int(Date().timeIntervalSince1970)) }
    }
}

extension RunResult.Moment: Codable, CustomStringConvertible {
    /// Reads the one form that is written.
    init(from decoder: any Decoder) throws {
        let text = try String(from: decoder), date = try? Date(text, strategy: .iso8601)
        self.init(secondsSince1970: Int(date?.timeIntervalSince1970 ?? 0))
        guard description == text else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "is no moment like 2026-11-21T18:26:32Z"))
        }
    }

    func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

    var description: String { Date(timeIntervalSince1970: Double(secondsSince1970)).formatted(.iso8601) }
}
