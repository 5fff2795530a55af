// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// What was asked for.
    struct Plan: Codable, Hashable, Sendable {
        var name: String?
        var description: String?
        var url: String
        var loop: Loop
        var arrival: Arrival
        /// Rates one after the other; none in a closed loop, which sends as fast as it is answered.
        var stages: [Stage] = []
        var warmupSeconds: Double
        var connections: Int
        var workers: Int
        /// Distinct receipts.
        var keys: Int
        /// How much more popular the first keys are: 0 for none, 1 for Zipf's law.
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
    }

    enum Loop: String, Codable, Sendable {
        /// Requests leave when they are due, whatever became of the ones before.
        case open
        /// Each connection waits for an answer before its next request.
        case closed
    }

    /// How the requests of a second lie in it.
    enum Arrival: String, Codable, Sendable {
        case constant, poisson
    }

    /// A rate, or a ramp from one to another.
    struct Stage: Codable, Hashable, Sendable {
        var fromPerSecond: Double
        var toPerSecond: Double
        var seconds: Double

        private enum CodingKeys: String, CodingKey {
            case fromPerSecond = "from_per_second"
            case toPerSecond = "to_per_second"
            case seconds
        }
    }
}

extension RunResult {
    /// When the last request was due, in seconds since the first, the warm-up included. Answers may come after it.
    var lastDue: Double { plan.warmupSeconds + min(durationSeconds, plan.seconds ?? durationSeconds) }
}

extension RunResult.Plan {
    /// How long requests are due, without the warm-up; nil in a closed loop, which has no plan for that.
    var seconds: Double? { loop == .open && !stages.isEmpty ? stages.map(\.seconds).reduce(0, +) : nil }
}
