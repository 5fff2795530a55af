// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Resilience

/// An outage of Apple, as the nodes' circuit breakers see it.
struct OutageCase: Hashable, Sendable {
    /// Apple's answer during the outage.
    enum Fault: String, Hashable, Sendable, CaseIterable {
        /// 503 after 50 ms.
        case serverError = "503"
        /// No answer until the deadline of 10 seconds.
        case timeout
    }

    var fault: Fault
    /// The calls per second that one node wants to make.
    var callsPerSecond: Double
    var nodes: Int
    /// Seconds.
    var outage: Range<Double>
    var span: Double
}

/// The nodes' calls to Apple in an outage: each with the gateway's `CircuitBreaker`, `ConcurrencyLimit` and
/// `RetryBudget` in their default settings, in the order of `UpstreamGuard`. Calls without a slot are rejected instead
/// of waiting for a slot.
struct OutageSimulation {
    private enum Settings {
        /// Apple's usual time for a call, and its time until a 503.
        static let usual: Duration = .milliseconds(300)
        static let serverError: Duration = .milliseconds(50)
        /// `UpstreamTimeouts.deadline`.
        static let deadline: Duration = .seconds(10)
        /// The share of calls that fail without an outage.
        static let usualFailures = 0.002
    }

    private enum Event {
        /// A call that the node wants to make. Its successor is drawn when it comes.
        case wanted
        case retry(Attempt)
        case ended(Attempt, ConcurrencyLimit.Slot, CircuitBreaker.Permit, Resilience.Outcome)
    }

    private struct Attempt {
        let start: Instant
        var isRetry = false
    }

    let plan: OutageCase
    let seed: UInt64
    private let start = Instant.now

    init(_ plan: OutageCase, seed: UInt64) { (self.plan, self.seed) = (plan, seed) }

    func run() -> OutageOutcome {
        var outcome = OutageOutcome(plan: plan)
        for node in 0..<plan.nodes {
            var run = NodeRun(plan: plan, start: start, randomness: SplitMix64(seed: seed, purpose: "outage \(node)"))
            run.run(&outcome)
        }
        return outcome
    }

    /// One node.
    private struct NodeRun {
        let plan: OutageCase
        let start: Instant
        var randomness: SplitMix64
        var breaker = CircuitBreaker()
        var limit = ConcurrencyLimit()
        var retries = RetryBudget()
        var events = EventQueue<Instant, Event>()
        var wasOpened = false
        var closedAt = 0.0

        mutating func run(_ outcome: inout OutageOutcome) {
            let end = start + .seconds(plan.span)
            scheduleNext(after: start)
            while let (now, event) = events.popFirst(upTo: end) { handle(event, at: now, &outcome) }
            if wasOpened { outcome.openedNodes += 1 }
            if wasOpened { outcome.recoverySeconds = max(outcome.recoverySeconds, closedAt - plan.outage.upperBound) }
        }

        private mutating func scheduleNext(after now: Instant) {
            events.add(.wanted, at: now + .nanoseconds(Int64(randomness.gap(mean: 1 / plan.callsPerSecond) * 1e9)))
        }

        private mutating func handle(_ event: Event, at now: Instant, _ outcome: inout OutageOutcome) {
            switch event {
            case .wanted:
                if isOut(at: now) { outcome.wanted += 1 }
                scheduleNext(after: now)
                call(Attempt(start: now), at: now, &outcome)
            case .retry(let attempt): call(attempt, at: now, &outcome)
            case .ended(let attempt, let slot, let permit, let result):
                limit.release(slot, result)
                breaker.record(result, of: permit, at: now, using: &randomness)
                count(breaker.takeTransitions(), at: now, &outcome)
                if case .failure = result { scheduleRetry(of: attempt, at: now) }
            }
        }

        private mutating func call(_ attempt: Attempt, at now: Instant, _ outcome: inout OutageOutcome) {
            guard !isOpen(at: now), let slot = limit.acquire() else { return }
            guard case .call(let permit) = breaker.permit(at: now) else { return limit.release(slot, .neutral) }
            if isOut(at: now) {
                outcome.sent += 1
                if breaker.state == .halfOpen { outcome.probes += 1 }
            }
            if !attempt.isRetry { retries.recordCall(at: now) }
            let (result, took) = reply(at: now)
            events.add(.ended(attempt, slot, permit, result), at: now + took)
        }

        private func isOpen(at now: Instant) -> Bool {
            guard case .open(let end?) = breaker.state else { return false }
            return now < end
        }

        private mutating func scheduleRetry(of attempt: Attempt, at now: Instant) {
            let deadline = attempt.start + Settings.deadline
            guard !attempt.isRetry,
                let delay = retries.delay(from: attempt.start, until: deadline, at: now, using: &randomness)
            else { return }
            events.add(.retry(Attempt(start: attempt.start, isRetry: true)), at: now + delay)
        }

        /// Apple's reply, and the time until it.
        private mutating func reply(at now: Instant) -> (outcome: Resilience.Outcome, took: Duration) {
            let isFailure = randomness.fraction() < Settings.usualFailures
            switch plan.fault {
            case .timeout where isOut(at: now): return (.failure(.hard, took: Settings.deadline), Settings.deadline)
            case .serverError where isOut(at: now) || isFailure, .timeout where isFailure:
                return (.failure(.soft, took: Settings.serverError), Settings.serverError)
            case .serverError, .timeout: return (.success(took: Settings.usual), Settings.usual)
            }
        }

        private func isOut(at now: Instant) -> Bool { plan.outage.contains(start.duration(to: now).seconds) }

        private mutating func count(
            _ transitions: [CircuitBreaker.Transition: Int], at now: Instant, _ outcome: inout OutageOutcome
        ) {
            let trips = transitions[.trip] ?? 0, seconds = start.duration(to: now).seconds
            outcome.openings += trips + (transitions[.reopen] ?? 0)
            // A call that began in the outage may end after it.
            if seconds < plan.outage.lowerBound { outcome.needlessOpenings += trips }
            if trips > 0, seconds >= plan.outage.lowerBound { wasOpened = true }
            if transitions[.close] != nil { closedAt = seconds }
        }
    }
}

/// The outcome of an outage for all simulated nodes together.
struct OutageOutcome: Hashable, Sendable {
    let plan: OutageCase
    /// The calls that the nodes wanted to make in the outage, and the calls that they sent.
    var wanted = 0
    var sent = 0
    /// The calls among them that tested whether Apple had recovered.
    var probes = 0
    /// The nodes whose breaker opened in the outage, and all openings.
    var openedNodes = 0
    var openings = 0
    /// The openings before the outage.
    var needlessOpenings = 0
    /// The longest time from Apple's return until a node's breaker closed, in seconds.
    var recoverySeconds = 0.0
}
