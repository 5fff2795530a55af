// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

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
            case warmupSeconds
            case timeoutMilliseconds = "timeoutMs"
        }

        /// The planned duration without the warm-up; nil in a closed loop.
        var seconds: Double? { loop == .open && !stages.isEmpty ? stages.map(\.seconds).reduce(0, +) : nil }
    }

    enum Loop: String, Codable, Sendable {
        /// Requests are sent when they are due, whether or not earlier requests are answered.
        case open
        /// Each connection waits for an answer before its next request.
        case closed
    }

    /// A rate, or a ramp between two rates.
    struct Stage: Codable, Hashable, Sendable {
        var fromPerSecond, toPerSecond, seconds: Double
    }

    /// The time in seconds at which the last request was due, warm-up included. Answers may come after it.
    var lastDue: Double { plan.warmupSeconds + min(durationSeconds, plan.seconds ?? durationSeconds) }

    /// The machine and the program that sent the requests.
    struct Environment: Codable, Hashable, Sendable {
        /// Of this program.
        var version: String
        /// The command line, without values of headers: they may be secret.
        var arguments: [String]
        var cpu: String
        /// The cores of the machine, and the cores that this process may use.
        var cores: Int
        var allowedCores: [Int]
        var kernel: String
        var memoryBytes: Int
    }

    /// The quality of the generator's own work.
    struct Generator: Codable, Hashable, Sendable {
        /// False if more than one request in a hundred was sent late, or the generator fell behind. The verdict says
        /// whether that matters beside the response.
        var keptSchedule: Bool
        /// The time from which a request was due until it was sent.
        var sendLag: Distribution
        /// The number of requests that were sent too late.
        var lateSends: Int
        var cpuSeconds: Double
        /// The share of one core for each worker; at 1 it has no more to give.
        var cpuShare: Double
    }
}

extension RunResult {
    /// Requests that were due after the warm-up, by their ends.
    ///
    /// `sent` = `answered` + `failed` + `shed` + `unanswered`.
    struct Totals: Codable, Hashable, Sendable {
        /// Requests that were due.
        var intended: Int
        var sent: Int
        /// Answers about the receipt.
        var answered: Int
        /// Answers that are errors, and connections that broke.
        var failed: Int
        /// Requests that the server rejected because of its load (HTTP 429).
        var shed: Int
        /// Requests without an answer at their timeout or at the end of the run.
        var unanswered: Int
        /// The average of requests due per second; nil in a closed loop.
        var targetPerSecond: Double?
        var achievedPerSecond: Double
        var sentBytes, receivedBytes: Int
    }

    struct Outcome: Codable, Hashable, Sendable {
        /// Such as `hit_near`, `local`, `shed` or `error`.
        var outcome: String
        var count: Int
        var response: Distribution
    }

    struct Threshold: Codable, Hashable, Sendable {
        /// As it was given: `p99<25ms`.
        var expression: String
        var measured: Double?
        /// Of `measured`: `ms`, `%`, `/s`, or empty.
        var unit: String
        var met: Bool
    }

    /// A distribution of times in milliseconds; the figures are nil if there were none.
    struct Distribution: Hashable, Sendable {
        var count = 0
        @NullIfAbsent var mean: Double? = nil
        @NullIfAbsent var minimum: Double? = nil
        @NullIfAbsent var maximum: Double? = nil
        @NullIfAbsent var p50: Double? = nil
        @NullIfAbsent var p75: Double? = nil
        @NullIfAbsent var p90: Double? = nil
        @NullIfAbsent var p95: Double? = nil
        @NullIfAbsent var p99: Double? = nil
        @NullIfAbsent var p99_9: Double? = nil
        @NullIfAbsent var p99_99: Double? = nil
        /// (percentile, milliseconds), both rising, as far into the tail as there are enough requests.
        var percentiles: [Point] = []
    }
}

extension RunResult.Distribution: Codable {
    private enum CodingKeys: String, CodingKey {
        case count, percentiles
        case mean = "meanMs"
        case minimum = "minMs"
        case maximum = "maxMs"
        case p50 = "p50Ms"
        case p75 = "p75Ms"
        case p90 = "p90Ms"
        case p95 = "p95Ms"
        case p99 = "p99Ms"
        case p99_9 = "p99_9Ms"
        case p99_99 = "p99_99Ms"
    }
}

extension RunResult {
    /// One second of the run. Requests count when they are sent, answers and their latencies when they come.
    struct Second: Hashable, Sendable {
        /// From 0, in which the first request was due. Seconds before `warmup_seconds` are the warm-up.
        var second: Int
        /// Requests that were due; nil in a closed loop.
        @NullIfAbsent var target: Double? = nil
        var sent = 0
        var answered = 0
        var failed = 0
        var shed = 0
        /// Of the response; nil if no answer came.
        @NullIfAbsent var p50: Double? = nil
        @NullIfAbsent var p90: Double? = nil
        @NullIfAbsent var p99: Double? = nil
        @NullIfAbsent var maximum: Double? = nil
        /// Nil if nothing was sent.
        @NullIfAbsent var sendLagP99: Double? = nil
        var outcomes: [String: Int] = [:]
    }

    /// An event at a moment of the run.
    struct Mark: Codable, Hashable, Sendable {
        var atSeconds: Double
        var text: String
    }

    /// A metric of the server, with one set of labels.
    struct Series: Codable, Hashable, Sendable {
        var name: String
        var labels: [String: String] = [:]
        var kind: Kind
        var unit: String?
        /// (second, value) in the order of time, as scraped: a counter's value is the count so far.
        var points: [Point]

        enum Kind: String, Codable, Sendable {
            case counter, gauge
        }
    }

    /// Two numbers, written as `[x, y]`.
    struct Point: Hashable, Sendable {
        var x, y: Double
    }

    /// A point in time, written as RFC 3339 in UTC: `2026-11-21T18:26:32Z`.
    struct Moment: Hashable, Sendable {
        let secondsSince1970: Int

        static var now: Moment { Moment(secondsSince1970: Int(Date().timeIntervalSince1970)) }
    }
}

extension RunResult.Second: Codable {
    private enum CodingKeys: String, CodingKey {
        case second, target, sent, answered, failed, shed, outcomes
        case p50 = "p50Ms"
        case p90 = "p90Ms"
        case p99 = "p99Ms"
        case maximum = "maxMs"
        case sendLagP99 = "sendLagP99Ms"
    }
}

extension RunResult.Point: Codable {
    init(from decoder: any Decoder) throws {
        let numbers = try [Double](from: decoder)
        guard numbers.count == 2 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "a point has two numbers"))
        }
        self.init(x: numbers[0], y: numbers[1])
    }

    func encode(to encoder: any Encoder) throws { try [x, y].encode(to: encoder) }
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
