// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// Requests that were due after the warm-up, and what became of them.
    ///
    /// `sent` = `answered` + `failed` + `shed` + `unanswered`.
    struct Totals: Codable, Hashable, Sendable {
        /// Requests that were due.
        var intended: Int
        var sent: Int
        /// Answers that say something about the receipt.
        var answered: Int
        /// Answers that are errors, and connections that broke.
        var failed: Int
        /// Requests that the server refused because it had too many (HTTP 429).
        var shed: Int
        /// Requests without an answer when their time, or the run, was over.
        var unanswered: Int
        /// Requests due in a second, on average; nil in a closed loop.
        var targetPerSecond: Double?
        /// Answers in a second, on average.
        var achievedPerSecond: Double
        var sentBytes: Int
        var receivedBytes: Int

        private enum CodingKeys: String, CodingKey {
            case intended, sent, answered, failed, shed, unanswered
            case targetPerSecond = "target_per_second"
            case achievedPerSecond = "achieved_per_second"
            case sentBytes = "sent_bytes"
            case receivedBytes = "received_bytes"
        }
    }

    /// Requests that ended in one way.
    struct Outcome: Codable, Hashable, Sendable {
        /// Such as `hit_near`, `local`, `shed` or `error`.
        var outcome: String
        var count: Int
        var response: Distribution
    }

    /// Something that was wanted of the run.
    struct Threshold: Codable, Hashable, Sendable {
        /// As it was given: `p99<25ms`.
        var expression: String
        /// Nil if there was nothing to measure.
        var measured: Double?
        /// Of `measured`: `ms`, `%`, `/s`, or empty.
        var unit: String
        var met: Bool
    }

    /// Something that happened at a moment.
    struct Mark: Codable, Hashable, Sendable {
        var atSeconds: Double
        var text: String

        private enum CodingKeys: String, CodingKey {
            case atSeconds = "at_seconds"
            case text
        }
    }
}
