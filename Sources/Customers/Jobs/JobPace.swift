// SPDX-License-Identifier: Apache-2.0

internal import Gateway

/// The number of jobs of a lane that this node may take now. The lane pauses as a whole: while Apple cannot be called,
/// no job gets further. The guards before Apple keep the budget; the pace avoids attempts that they would refuse.
struct JobPace: Sendable {
    enum Limits {
        /// The attempts in flight. Reaching Apple raises the limit by a fraction, a used-up budget halves it.
        static let concurrency: ClosedRange<Double> = 1...16
        /// The time between two reads of the store if the first read found fewer jobs than permitted.
        static let poll: Duration = .milliseconds(500)
        /// The pause after the first obstacle of the lane, and the longest pause. They bound the time to notice that
        /// Apple is back, and the time that jobs which can be answered wait behind others that cannot.
        static let pause: ClosedRange<Duration> = .seconds(1) ... .seconds(2)
        /// The pause after a used-up budget, or without a free slot.
        static let shortPause: Duration = .milliseconds(100)
        /// The delay of a job after its first own obstacle, and the longest delay.
        static let delay: ClosedRange<Duration> = .seconds(2) ... .seconds(60)
    }

    private var inFlight = 0
    private var concurrency = Limits.concurrency.upperBound
    /// The consecutive obstacles of the lane since an attempt last reached Apple.
    private var obstacles = 0
    private var pausedUntil: ContinuousClock.Instant?
    private var nextPoll: ContinuousClock.Instant?

    var isBusy: Bool { inFlight > 0 }

    func permitted(at now: ContinuousClock.Instant) -> Int {
        if let pausedUntil, now < pausedUntil { return 0 }
        if let nextPoll, now < nextPoll { return 0 }
        return max(0, Int(concurrency) - inFlight)
    }

    mutating func took(_ count: Int, of permitted: Int, at now: ContinuousClock.Instant) {
        inFlight += count
        nextPoll = count < permitted ? now + Limits.poll : nil
    }

    /// Records that a job is due at once.
    mutating func announce() { nextPoll = nil }

    mutating func finished() { inFlight -= 1 }

    /// Records that Apple answered, or failed to answer a request of its own.
    mutating func reachedApple() {
        obstacles = 0
        concurrency = min(concurrency + 1 / concurrency, Limits.concurrency.upperBound)
    }

    /// Records an obstacle that other jobs of the lane may meet, too. Attempts beside the first prolong no pause.
    /// - Returns: the time to the next attempt. Other jobs go first: the obstacle may concern only this job's app.
    mutating func pause(
        _ reason: DegradedReason, at now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        if pausedUntil.map({ $0 <= now }) ?? true {
            let pause = reason.isShort ? Limits.shortPause : Limits.pause.doubled(obstacles)
            if reason.isShort {
                concurrency = max(concurrency / 2, Limits.concurrency.lowerBound)
            } else {
                obstacles += 1
            }
            pausedUntil = now + pause.jittered(using: &generator)
        }
        return (reason.isShort ? Limits.shortPause : Limits.delay.upperBound).jittered(using: &generator)
    }

    /// Returns the time to the next attempt of a job that failed by itself.
    /// - Parameter attempts: the attempts before this attempt.
    static func delay(afterAttempts attempts: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        Limits.delay.doubled(attempts).jittered(using: &generator)
    }
}

extension DegradedReason {
    /// True if the obstacle passes within a moment: tokens and slots come back while Apple answers.
    fileprivate var isShort: Bool { self == .upstreamBudget || self == .upstreamSaturated }
}

extension ClosedRange<Duration> {
    /// Returns the lower bound, doubled `exponent` times, at most the upper bound.
    fileprivate func doubled(_ exponent: Int) -> Duration {
        var (span, remaining) = (lowerBound, exponent)
        while remaining > 0, span < upperBound { (span, remaining) = (span * 2, remaining - 1) }
        return Swift.min(span, upperBound)
    }
}

extension Duration {
    /// Returns half to all of this duration, at random, so that jobs that failed together do not return together.
    fileprivate func jittered(using generator: inout some RandomNumberGenerator) -> Duration {
        self * Double.random(in: 0.5...1, using: &generator)
    }
}
