// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How many requests came to what. `intended` is the sum of `answered`, `shed`, `failed`, `timedOut`, `unsent` and
/// `abandoned`.
struct RequestCounts: Hashable, Sendable {
    /// Were due.
    var intended = 0
    /// Were written to a connection.
    var sent = 0
    /// Have an answer that is neither an error of the server's nor a refusal for want of room.
    var answered = 0
    /// Were answered 429 or 503.
    var shed = 0
    /// Were answered with another error of the server's, or lost their connection.
    var failed = 0
    /// Had no answer in time.
    var timedOut = 0
    /// Had no connection in time.
    var unsent = 0
    /// Were under way, or waited for a connection, when the run was ended early.
    var abandoned = 0
    /// Were taken up late by their worker.
    var late = 0
    var sentBytes = 0
    var receivedBytes = 0
    /// By outcome, in the order of all cases.
    var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)

    /// Answers that a customer cannot use, or none; without those that only the end of the run cut off.
    var errors: Int { failed + timedOut + unsent }

    subscript(_ outcome: Outcome) -> Int { outcomes[outcome.index] }

    mutating func add(_ other: RequestCounts) {
        for counter in Self.counters { self[keyPath: counter] += other[keyPath: counter] }
        for index in outcomes.indices { outcomes[index] += other.outcomes[index] }
    }

    private static var counters: [WritableKeyPath<RequestCounts, Int>] {
        [
            \.intended, \.sent, \.answered, \.shed, \.failed, \.timedOut, \.unsent, \.abandoned, \.late, \.sentBytes,
            \.receivedBytes,
        ]
    }
}
