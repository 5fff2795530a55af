// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Says whose turn it is, and when. Workers that share one take turns.
final class Schedule: Sendable {
    /// How turns follow each other.
    enum Pace: Hashable, Sendable {
        /// So many in a second, and so many in all, whether or not the earlier ones are answered.
        case steady(perSecond: Double, count: Int)
        /// The next as soon as somebody is free, for this long.
        case eager(Duration)
    }

    /// One request.
    struct Turn: Hashable, Sendable {
        /// Counted from 0.
        let number: Int
        /// When it is to be sent; its latency counts from here, so that waiting for a connection is not hidden.
        let due: ContinuousClock.Instant
    }

    private let pace: Pace
    private let start: ContinuousClock.Instant
    private let state = Mutex(State())

    private struct State {
        var taken = 0
        var isOver = false
    }

    /// The first turn is at `start`.
    init(_ pace: Pace, start: ContinuousClock.Instant) {
        self.pace = pace
        self.start = start
    }

    /// The next turn, or nil if there are no more.
    func next(at now: ContinuousClock.Instant) -> Turn? {
        state.withLock { state in
            guard !state.isOver, let due = due(state.taken, at: now) else { return nil }
            state.taken += 1
            return Turn(number: state.taken - 1, due: due)
        }
    }

    /// Gives nobody another turn; who has one keeps it.
    func end() {
        state.withLock { $0.isOver = true }
    }

    private func due(_ number: Int, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        switch pace {
        case .steady(let rate, let count): number < count ? start + .seconds(Double(number) / rate) : nil
        case .eager(let duration): now < start + duration ? now : nil
        }
    }
}
