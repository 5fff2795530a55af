// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `verify` measures, and for how long.
struct VerifyPlan: Hashable, Sendable {
    /// Sizes of receipts, in purchases.
    var purchases = [1, 3, 9, 187]
    /// Numbers of threads.
    var threads = [1]
    /// How long each contender works in each case.
    var duration = Duration.seconds(1)
    /// Distinct receipts of each size.
    var receipts = 64
    /// What authority and receipts follow from.
    var seed: UInt64 = 1

    /// Turns each contender takes. Never fewer than nine, so that the median stands on something.
    var rounds: Int { max(9, Int(duration / .milliseconds(80))) }

    /// The length of one turn.
    var slice: Duration { duration / rounds }

    /// Everyone who takes turns with the others.
    var entrants: [Entrant] {
        threads.flatMap { threads in Contender.allCases.map { Entrant(contender: $0, threads: threads) } }
    }

    /// How many turns the whole run has.
    var turns: Int { purchases.count * entrants.count * rounds }
}

/// A contender on a number of threads.
struct Entrant: Hashable, Sendable {
    let contender: Contender
    let threads: Int
}
