// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A part of a scenario: when it applies, to whom, and what it adds to an answer.
struct Phase: Hashable, Sendable {
    /// Nil for both.
    var endpoint: Endpoint?
    /// Seconds since the scenario's start, the end excluded.
    var seconds: Range<Double> = 0..<Double.infinity
    /// The part of the requests it applies to.
    var share = 1.0
    /// The number of requests it applies to in all; nil for any number.
    var requests: Int?

    /// What is done instead of answering.
    var fault: ServerFault?
    /// How long it takes.
    var latency: Latency?
    /// Header fields that are added, in order, spelled as the scenario spells them.
    var headers: [HeaderField]?

    /// One line of a header.
    struct HeaderField: Hashable, Sendable {
        let name: String
        let value: String
    }
}
