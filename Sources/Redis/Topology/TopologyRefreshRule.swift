// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// When somebody looks where the nodes are: every now and then, at once when there is a reason, one look at a time, and
/// never sooner than `pace` after the last one began, however many reasons there are.
struct TopologyRefreshRule {
    /// What is to be done next.
    enum Step: Hashable {
        case nothing
        /// Look now, and say `ended` when done.
        case look
        /// Say `timerFired` then.
        case wait(until: ContinuousClock.Instant)
    }

    /// From the beginning of one look to the next, at least.
    let pace: Duration
    /// From the end of a look that found everything in order to the next.
    let interval: Duration
    /// From the end of a look that did not.
    let retryInterval: Duration

    private var earliest: ContinuousClock.Instant?
    private var next: ContinuousClock.Instant?
    private var isLooking = false
    private var isWantedAgain = false

    init(pace: Duration, interval: Duration, retryInterval: Duration) {
        self.pace = pace
        self.interval = interval
        self.retryInterval = retryInterval
    }

    /// There is a reason to look.
    mutating func want(at now: ContinuousClock.Instant) -> Step {
        guard !isLooking else {
            isWantedAgain = true
            return .nothing
        }
        let wanted = max(now, earliest ?? now)
        if wanted <= now { return begin(at: now) }
        if let next, next <= wanted { return .nothing }
        return wait(until: wanted)
    }

    /// The time of a `wait` has come. Timers that were overtaken do no harm.
    mutating func timerFired(at now: ContinuousClock.Instant) -> Step {
        guard !isLooking, let next, next <= now else { return .nothing }
        return begin(at: now)
    }

    /// The look is over.
    /// - Parameter isInOrder: whether there is nothing more to find out.
    mutating func ended(isInOrder: Bool, at now: ContinuousClock.Instant) -> Step {
        let pause = isWantedAgain ? .zero : isInOrder ? interval : retryInterval
        (isLooking, isWantedAgain) = (false, false)
        return wait(until: max(now + pause, earliest ?? now))
    }

    private mutating func begin(at now: ContinuousClock.Instant) -> Step {
        (isLooking, next, earliest) = (true, nil, now + pace)
        return .look
    }

    private mutating func wait(until time: ContinuousClock.Instant) -> Step {
        next = time
        return .wait(until: time)
    }
}
