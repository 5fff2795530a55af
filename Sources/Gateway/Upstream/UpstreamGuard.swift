// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits
internal import Receipts
public import Resilience
internal import Synchronization

/// The numbers of a guard.
public struct UpstreamGuardPolicy: Hashable, Sendable {
    /// When to stop asking, and when to try again.
    public var breaker = CircuitBreaker.Policy()
    /// Who decides about that.
    public var breakerMode = CircuitBreaker.Mode.auto
    /// How many questions may be under way.
    public var concurrency = ConcurrencyLimit.Policy()
    /// How many questions may be asked; nil for any number.
    public var budget: RatePolicy?
    /// How many may wait for a place among those under way.
    public var maximumWaiting = 2000

    /// The default policy.
    public init() {}
}

/// A guard for each of Apple's endpoints.
public final class UpstreamGuards: Sendable {
    private let production: UpstreamGuard
    private let sandbox: UpstreamGuard

    /// - Parameter policy: of each.
    public init(_ policy: UpstreamGuardPolicy = UpstreamGuardPolicy()) {
        production = UpstreamGuard(policy, of: UpstreamEndpoint(.verifyReceipt, .production))
        sandbox = UpstreamGuard(policy, of: UpstreamEndpoint(.verifyReceipt, .sandbox))
    }

    subscript(endpoint: UpstreamEndpoint) -> UpstreamGuard {
        switch (endpoint.api, endpoint.environment) {
        case (.verifyReceipt, .production): production
        case (.verifyReceipt, .sandbox): sandbox
        }
    }

    /// Leaves an endpoint alone for so long: another node was asked to. A longer pause stays as it is.
    public func pause(_ endpoint: UpstreamEndpoint, for span: Duration) { self[endpoint].pause(for: span) }

    /// The state of the guard of an endpoint.
    public func health(of endpoint: UpstreamEndpoint) -> UpstreamHealth { self[endpoint].health }
}

/// Stands in front of one endpoint of Apple's: pause, circuit breaker, budget, concurrency limit, and at the moment of
/// the call the breaker again, which may have opened meanwhile.
final class UpstreamGuard: Sendable {
    /// The leave to ask once, to be handed back with what came of it.
    struct Pass: Sendable {
        let startedAt: Instant
        fileprivate let slot: ConcurrencyLimit.Slot
        fileprivate let permit: CircuitBreaker.Permit
    }

    /// Whether Apple may be asked.
    enum Entry: Sendable {
        case pass(Pass)
        case rejected(DegradedReason)
    }

    fileprivate struct State: Sendable {
        var breaker: CircuitBreaker
        var limit: ConcurrencyLimit
        var pause = UpstreamPause()
        var retries = RetryBudget()
        var waiting: [Waiter<ConcurrencyLimit.Slot>] = []
        /// What a question takes lately; zero while none has come back.
        var usualTime: Duration = .zero
    }

    private let state: Mutex<State>
    private let budget: UpstreamBudget?
    private let maximumWaiting: Int
    private let retryPolicy = RetryPolicy()
    private let timeouts = Timeouts()

    init(_ policy: UpstreamGuardPolicy, of endpoint: UpstreamEndpoint) {
        budget = policy.budget.map { UpstreamBudget($0, of: endpoint) }
        maximumWaiting = policy.maximumWaiting
        state = Mutex(
            State(
                breaker: CircuitBreaker(policy.breaker, mode: policy.breakerMode),
                limit: ConcurrencyLimit(policy.concurrency)))
    }
}

// MARK: - Before a question

extension UpstreamGuard {
    /// Asks for leave, and waits for a place if all are taken.
    /// - Parameter limiter: keeps count of the budget.
    func enter(by deadline: Instant, limiter: any RateLimiter) async -> Entry {
        if let budget {
            // Only who would be let in pays.
            if let reason = state.withLock({ $0.obstacle(maximumWaiting, at: .now, by: deadline) }) {
                return .rejected(reason)
            }
            guard await budget.take(from: limiter) else { return .rejected(.upstreamBudget) }
        }
        return await lineUp(by: deadline)
    }

    private func lineUp(by deadline: Instant) async -> Entry {
        let now = Instant.now
        switch state.withLock({ $0.line(up: maximumWaiting, at: now, by: deadline) }) {
        case .rejected(let reason): return .rejected(reason)
        case .slot(let slot): return pass(for: slot)
        case .wait(let waiter):
            guard let slot = await waiter.value(waitLimit: now.duration(to: deadline), timeouts) else {
                return .rejected(.upstreamSaturated)
            }
            return pass(for: slot)
        }
    }

    /// The breaker is asked last, at the moment of the call: it may have opened while this question waited.
    private func pass(for slot: ConcurrencyLimit.Slot) -> Entry {
        let now = Instant.now
        return state.withLock { state in
            switch state.breaker.permit(at: now) {
            case .call(let permit):
                state.retries.recordCall(at: now)
                return .pass(Pass(startedAt: now, slot: slot, permit: permit))
            case .reject:
                state.release(slot, .neutral)
                return .rejected(.circuitOpen)
            }
        }
    }

    /// Whether a question that failed may be asked again, and after how long.
    func retry(from start: Instant, until deadline: Instant) -> RetryPolicy.Decision {
        var generator = SystemRandomNumberGenerator()
        return state.withLock { state in
            retryPolicy.decision(
                afterRetries: 0, from: start, until: deadline, at: .now, budget: &state.retries, using: &generator)
        }
    }
}

extension UpstreamGuard.State {
    fileprivate enum Admission {
        case slot(ConcurrencyLimit.Slot)
        case wait(Waiter<ConcurrencyLimit.Slot>)
        case rejected(DegradedReason)
    }

    /// Why nobody is let in, or into the line, now.
    fileprivate mutating func obstacle(
        _ maximumWaiting: Int, at now: Instant, by deadline: Instant
    ) -> DegradedReason? {
        if pause.remaining(at: now) != nil { return .upstreamPaused }
        if isOpen(at: now) { return .circuitOpen }
        let hasRoom = waiting.count < maximumWaiting && expectedWait <= now.duration(to: deadline) / 2
        return hasRoom ? nil : .upstreamSaturated
    }

    fileprivate mutating func line(up maximumWaiting: Int, at now: Instant, by deadline: Instant) -> Admission {
        if let reason = obstacle(maximumWaiting, at: now, by: deadline) { return .rejected(reason) }
        if waiting.isEmpty, case .acquired(let slot) = limit.acquire() { return .slot(slot) }
        let waiter = Waiter<ConcurrencyLimit.Slot>()
        waiting.append(waiter)
        return .wait(waiter)
    }

    /// How long the next one would wait for a place. Who would wait too long is told at once, while his own caller still
    /// has time for another answer.
    private var expectedWait: Duration {
        limit.inFlight < limit.limit ? .zero : usualTime * (waiting.count + 1) / limit.limit
    }

    /// Whether the breaker would reject anyhow: then nobody has to wait for that, or pay for it.
    private func isOpen(at now: Instant) -> Bool {
        guard breaker.mode != .metricsOnly, case .open(let end) = breaker.state else { return false }
        return end.map { now < $0 } ?? true
    }

    /// The moving average of about the last eight questions.
    fileprivate mutating func note(_ took: Duration) {
        usualTime = usualTime == .zero ? took : usualTime + (took - usualTime) / 8
    }

    /// Frees a place and lets those who wait move up, the first first. Who has left gives his place to the next.
    fileprivate mutating func release(_ slot: ConcurrencyLimit.Slot, _ outcome: Outcome) {
        limit.release(slot, outcome)
        var served = 0
        for waiter in waiting {
            guard case .acquired(let slot) = limit.acquire() else { break }
            if !waiter.end(with: slot) { limit.release(slot, .neutral) }
            served += 1
        }
        waiting.removeFirst(served)
    }
}

// MARK: - After a question

extension UpstreamGuard {
    /// Hands a pass back.
    /// - Parameter pause: how long Apple asks to be left alone, if it does.
    /// - Returns: how the breaker moved since the last departure.
    func leave(
        _ pass: Pass, _ outcome: Outcome, pause: Duration? = nil
    ) -> [CircuitBreaker.Transition: Int] {
        var generator = SystemRandomNumberGenerator()
        let now = Instant.now
        return state.withLock { state in
            state.breaker.record(outcome, of: pass.permit, at: now, using: &generator)
            if let pause { state.pause.pause(until: now + pause, at: now) }
            state.note(pass.startedAt.duration(to: now))
            state.release(pass.slot, outcome)
            return state.breaker.takeTransitions()
        }
    }

    /// Leaves the endpoint alone for so long.
    func pause(for span: Duration) {
        let now = Instant.now
        state.withLock { $0.pause.pause(until: now + span, at: now) }
    }

    /// How it stands.
    var health: UpstreamHealth {
        let now = Instant.now
        return state.withLock { state in
            UpstreamHealth(
                breaker: state.breaker.state.name, breakerMode: state.breaker.mode,
                breakerOpensFor: state.breaker.state.remaining(at: now), pausedFor: state.pause.remaining(at: now),
                inFlight: state.limit.inFlight, concurrencyLimit: state.limit.limit, waiting: state.waiting.count,
                budgetRemaining: budget?.remaining(at: now))
        }
    }
}

/// How the way to one endpoint stands.
public struct UpstreamHealth: Sendable {
    /// What the circuit breaker does.
    public let breaker: CircuitBreaker.State.Name
    /// Who decides about that.
    public let breakerMode: CircuitBreaker.Mode
    /// How long it stays open at least; nil if it is not, or if an operator opened it.
    public let breakerOpensFor: Duration?
    /// How long Apple is still to be left alone; nil if it is not.
    public let pausedFor: Duration?
    /// Questions under way.
    public let inFlight: Int
    /// How many may be.
    public let concurrencyLimit: Int
    /// How many wait for a place.
    public let waiting: Int
    /// What is left of the budget; nil without one.
    public let budgetRemaining: Int?
}

extension CircuitBreaker.State {
    fileprivate func remaining(at now: Instant) -> Duration? {
        guard case .open(let end?) = self, now < end else { return nil }
        return now.duration(to: end)
    }
}
