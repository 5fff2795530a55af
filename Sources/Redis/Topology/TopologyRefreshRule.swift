// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The schedule of refreshes: one at a time, at intervals or on demand, with at least `pace` between their starts.
struct TopologyRefreshRule {
    enum Step: Hashable {
        case nothing
        /// Refresh now, then call `ended`.
        case refresh
        /// Call `timerFired` then.
        case wait(until: ContinuousClock.Instant)
    }

    /// The minimum time between the starts of two refreshes.
    let pace: Duration
    /// The time from the end of a refresh that found everything in order to the next.
    let interval: Duration
    /// The time from the end of any other refresh to the next.
    let retryInterval: Duration

    private(set) var earliest: ContinuousClock.Instant?
    private(set) var next: ContinuousClock.Instant?
    private(set) var isRefreshing = false
    private(set) var isRequestedAgain = false

    mutating func request(at now: ContinuousClock.Instant) -> Step {
        guard !isRefreshing else {
            isRequestedAgain = true
            return .nothing
        }
        let requested = max(now, earliest ?? now)
        if requested <= now { return begin(at: now) }
        if let next, next <= requested { return .nothing }
        return wait(until: requested)
    }

    /// Handles the end of a `wait`. Outdated timers have no effect.
    mutating func timerFired(at now: ContinuousClock.Instant) -> Step {
        guard !isRefreshing, let next, next <= now else { return .nothing }
        return begin(at: now)
    }

    /// Handles the end of a refresh.
    /// - Parameter isInOrder: true if no retry is needed.
    mutating func ended(isInOrder: Bool, at now: ContinuousClock.Instant) -> Step {
        let pause = isRequestedAgain ? .zero : isInOrder ? interval : retryInterval
        (isRefreshing, isRequestedAgain) = (false, false)
        return wait(until: max(now + pause, earliest ?? now))
    }

    private mutating func begin(at now: ContinuousClock.Instant) -> Step {
        (isRefreshing, next, earliest) = (true, nil, now + pace)
        return .refresh
    }

    private mutating func wait(until time: ContinuousClock.Instant) -> Step {
        next = time
        return .wait(until: time)
    }
}
