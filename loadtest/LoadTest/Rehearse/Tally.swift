// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What clients were told in some time.
struct Tally: Hashable, Sendable {
    private(set) var latencies = LatencyHistogram()
    private var kinds: [AnswerKind: Int] = [:]

    mutating func record(_ kind: AnswerKind, _ latency: Duration) {
        latencies.record(latency)
        kinds[kind, default: 0] += 1
    }

    mutating func merge(_ other: Tally) {
        latencies.merge(other.latencies)
        kinds.merge(other.kinds, uniquingKeysWith: +)
    }

    /// How many requests ended, well or not.
    var requests: Int { latencies.count }

    /// How many genuine receipts were called genuine.
    var genuine: Int { AnswerKind.allCases.filter(\.isGenuine).map { self[$0] }.reduce(0, +) }

    /// How many ended so.
    subscript(_ kind: AnswerKind) -> Int { kinds[kind, default: 0] }
}

/// A tally that is kept by several threads.
final class SharedTally: Sendable {
    private let tally = Mutex(Tally())

    func record(_ outcome: LoadDriver.Outcome) {
        let kind = AnswerKind(outcome.reply)
        tally.withLock { $0.record(kind, outcome.latency) }
    }

    /// What was recorded since the last time.
    func take() -> Tally {
        tally.withLock { tally in
            defer { tally = Tally() }
            return tally
        }
    }
}
