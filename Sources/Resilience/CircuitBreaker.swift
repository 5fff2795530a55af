// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Stops calls to a failing upstream, and tests with a few probes when it has recovered.
///
/// Closed, it counts the calls of the last half minute and opens when too many fail, are slow, or too many in a row get
/// no answer. Open, it rejects calls. Half-open, it lets a few probes through: it closes when all succeed, and opens
/// for twice as long when one does not.
public struct CircuitBreaker: Hashable, Sendable {
    package let policy: Policy
    package let mode: Mode

    /// The state while the breaker decides; an opening always has an end.
    private var phase = State.closed
    /// Incremented with every change of phase: outcomes of older permits say nothing about the present one.
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
            return .call(Permit(generation: generation, overrulesRejection: true))
        case .forcedClosed: return .call(Permit(generation: generation))
        case .forcedOpen: return .reject(retryAfter: policy.firstOpening)
        }
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
            return probe(at: now)
        case .halfOpen: return probe(at: now)
        }
    }

    private mutating func probe(at now: Instant) -> Admission {
        switch probes.begin(at: now, following: policy) {
        case .began(let number): .call(Permit(generation: generation, probe: number))
        case .allBusy(let wait): .reject(retryAfter: wait)
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
            if probes.successes >= policy.probes { close() }
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

    private mutating func close() {
        openings = 0
        enter(.closed, by: .close)
    }

    private mutating func enter(_ next: State, by transition: Transition) {
        phase = next
        generation &+= 1
        window.removeAll()
        hardFailuresInARow = 0
        probes = Probes()
        untakenTransitions[transition, default: 0] += 1
    }
}
