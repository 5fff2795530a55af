// SPDX-License-Identifier: Apache-2.0

/// Stops calls to a failing upstream, and tests with a few probes when it has recovered.
///
/// Closed, it counts the calls of the last half minute and opens when too many fail, are slow, or too many in a row get
/// no answer. Open, it rejects calls. Half-open, it lets a few probes through: it closes when all probes succeed, and
/// opens for twice as long when a probe fails.
package struct CircuitBreaker: Hashable, Sendable {
    package let policy: Policy
    package let mode: Mode

    /// The state while the breaker decides; an opening always has an end.
    private var phase = State.closed
    /// Incremented with every change of phase: outcomes of older permits say nothing about the present phase.
    private var generation: UInt64 = 0
    private var window: CallWindow
    private var hardFailuresInARow = 0
    private var probes = Probes()
    /// The number of openings since it was last closed.
    private var openings = 0
    private var untakenTransitions: [Transition: Int] = [:]

    package init(_ policy: Policy = Policy(), mode: Mode = .auto) {
        self.policy = policy
        self.mode = mode
        window = CallWindow(bucketWidth: policy.bucketWidth, bucketCount: policy.bucketCount)
    }

    /// The present state. An opening that has ended counts as open until the next call of `permit`.
    package var state: State { mode == .forcedOpen ? .open(until: nil) : phase }

    /// Returns the number of each transition since the last call. Modes that the operator forces count none.
    package mutating func takeTransitions() -> [Transition: Int] {
        defer { untakenTransitions = [:] }
        return untakenTransitions
    }

    // MARK: - Before a call

    /// Decides about a call. Record the outcome of each permit once: `neutral` if the caller left or no call was made.
    package mutating func permit(at now: Instant) -> Admission {
        switch mode {
        case .auto: return decide(at: now)
        case .metricsOnly:
            if case .call(let permit) = decide(at: now) { return .call(permit) }
            return .call(Permit(generation: generation))
        case .forcedClosed: return .call(Permit(generation: generation))
        case .forcedOpen: return .reject(retryAfter: policy.firstOpening)
        }
    }

    /// Returns true if a call would be rejected now.
    package func rejects(at now: Instant) -> Bool {
        var copy = self
        guard case .reject = copy.permit(at: now) else { return false }
        return true
    }

    private mutating func decide(at now: Instant) -> Admission {
        switch phase {
        case .closed: return .call(Permit(generation: generation))
        case .open(let stored):
            // Never longer than from now, in case the clock went back.
            let end = min(stored ?? now, now + policy.longestOpening)
            guard end <= now else {
                phase = .open(until: end)
                return .reject(retryAfter: now.duration(to: end))
            }
            enter(.halfOpen, by: .probe)
            return probes.begin(at: now, following: policy, in: generation)
        case .halfOpen: return probes.begin(at: now, following: policy, in: generation)
        }
    }

    // MARK: - After a call

    /// Records the outcome of a call. Permits of an earlier generation, and probes whose lease ended, are ignored.
    ///
    /// - Parameter generator: draws the duration of an opening.
    package mutating func record(
        _ outcome: Outcome, of permit: Permit, at now: Instant, using generator: inout some RandomNumberGenerator
    ) {
        guard permit.generation == generation, mode.decides else { return }
        switch (phase, permit.probe) {
        case (.closed, _):
            if trips(counting: outcome, at: now) { open(by: .trip, at: now, using: &generator) }
        case (.halfOpen, let probe?):
            conclude(probe, with: outcome, at: now, using: &generator)
        case (.halfOpen, nil), (.open, _): break
        }
    }

    private mutating func trips(counting outcome: Outcome, at now: Instant) -> Bool {
        switch outcome {
        case .neutral: return false
        case .failure(.hard, _): hardFailuresInARow += 1
        case .success, .failure(.soft, _), .throttled: hardFailuresInARow = 0
        }
        // An upstream that throttles works, but has done nothing either: the consequence is a pause.
        guard let call = CallCounts(outcome, slowAfter: policy.slowCall) else { return false }
        return hardFailuresInARow >= policy.hardFailuresInARow || policy.isTripped(by: window.add(call, at: now))
    }

    private mutating func conclude(
        _ probe: Probes.Number, with outcome: Outcome, at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) {
        guard probes.end(probe) else { return }
        switch outcome {
        case .neutral: break
        case .success(let took) where took <= policy.slowCall:
            probes.successes += 1
            guard probes.successes >= policy.probes else { return }
            openings = 0
            enter(.closed, by: .close)
        case .success, .failure, .throttled: open(by: .reopen, at: now, using: &generator)
        }
    }

    /// Opens for half the span and a random part of the rest ("equal jitter"): time to recover, and no two nodes probe
    /// together.
    private mutating func open(
        by transition: Transition, at now: Instant, using generator: inout some RandomNumberGenerator
    ) {
        let half = policy.firstOpening.doubled(openings, upTo: policy.longestOpening) / 2
        openings += 1
        enter(.open(until: now + half + .random(upTo: half, using: &generator)), by: transition)
    }

    private mutating func enter(_ next: State, by transition: Transition) {
        phase = next
        generation &+= 1
        window.removeAll()
        hardFailuresInARow = 0
        probes = Probes()
        untakenTransitions[transition, default: 0] += 1
    }

    /// The settings of a circuit breaker. Values outside `Limits` are clamped.
    package struct Policy: Hashable, Sendable {
        /// The width of one bucket of the window in which calls are counted.
        package let bucketWidth: Duration
        /// The number of buckets in the window; the oldest is replaced next.
        package let bucketCount: Int
        /// The number of calls in the window below which percentages are ignored.
        package let minimumCalls: Int
        /// The percentage of failures that trips the breaker.
        package let failurePercent: Int
        /// The percentage of slow calls, failed or not, that trips the breaker.
        package let slowPercent: Int
        package let slowCall: Duration
        /// The number of hard failures in a row that trips the breaker, however few calls there were.
        package let hardFailuresInARow: Int
        /// The duration of the first opening, before jitter; doubled each time until the breaker closes.
        package let firstOpening: Duration
        package let longestOpening: Duration
        /// The number of concurrent probes, which must succeed for the breaker to close.
        package let probes: Int
        /// The time until a probe without a recorded outcome loses its slot. Longer than a call may take.
        package let probeLease: Duration

        package init(
            bucketWidth: Duration = .seconds(3), bucketCount: Int = 10, minimumCalls: Int = 20,
            failurePercent: Int = 50, slowPercent: Int = 80, slowCall: Duration = .seconds(5),
            hardFailuresInARow: Int = 5, firstOpening: Duration = .seconds(5), longestOpening: Duration = .seconds(60),
            probes: Int = 3, probeLease: Duration = .seconds(15)
        ) {
            self.bucketWidth = bucketWidth.clamped(to: Limits.span)
            self.bucketCount = bucketCount.clamped(to: Limits.buckets)
            self.minimumCalls = minimumCalls.clamped(to: Limits.calls)
            self.failurePercent = failurePercent.clamped(to: Limits.percent)
            self.slowPercent = slowPercent.clamped(to: Limits.percent)
            self.slowCall = slowCall.clamped(to: Limits.span)
            self.hardFailuresInARow = hardFailuresInARow.clamped(to: Limits.calls)
            self.firstOpening = firstOpening.clamped(to: Limits.span)
            self.longestOpening = longestOpening.clamped(to: self.firstOpening...Limits.span.upperBound)
            self.probes = probes.clamped(to: Limits.probes)
            self.probeLease = probeLease.clamped(to: Limits.span)
        }

        func isTripped(by counts: CallCounts) -> Bool {
            guard counts.calls >= minimumCalls else { return false }
            return counts.failures * 100 >= counts.calls * failurePercent
                || counts.slow * 100 >= counts.calls * slowPercent
        }
    }

    package enum Limits {
        package static let span: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3600)
        package static let buckets = 1...100
        package static let calls = 1...1_000_000
        package static let percent = 1...100
        package static let probes = 1...100
    }
}
