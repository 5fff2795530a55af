// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A part of a scenario: the requests it applies to, and its effects on their answers.
struct Phase: Hashable, Sendable {
    /// The endpoint it applies to; nil for both.
    var endpoint: Endpoint?
    /// Seconds since the scenario's start, the end excluded.
    var seconds: Range<Double> = 0..<Double.infinity
    /// The fraction of requests it applies to.
    var share = 1.0
    /// The maximum number of requests it applies to; nil for any number.
    var requests: Int?

    /// The fault in place of an answer.
    var fault: ServerFault?
    var latency: Latency?
    /// Additional header fields, in order, spelled as in the scenario.
    var headers: [HeaderField]?

    /// One line of a header.
    struct HeaderField: Hashable, Sendable {
        let name: String
        let value: String
    }
}
