// SPDX-License-Identifier: Apache-2.0

package import Resilience
internal import Synchronization

package struct UpstreamGuardPolicy: Hashable, Sendable {
    package var breaker = CircuitBreaker.Policy()
    package var breakerMode = CircuitBreaker.Mode.auto
    package var concurrency = ConcurrencyLimit.Policy()
    /// The rate limit for requests; nil for none.
    package var budget: RatePolicy?
    /// The maximum number of requests that wait for a concurrency slot.
    package var maximumWaiting = 2000

    package init() {}
}

package final class UpstreamGuards: Sendable {
    private let guards: [UpstreamEndpoint: UpstreamGuard]
    private let quotaPauses = Mutex<[ServerAPIQuota: UpstreamPause]>([:])
    /// The maximum number of paused quotas: enough for hundreds of apps.
    static let maximumQuotaPauses = 10_000

    package init(_ policy: UpstreamGuardPolicy = UpstreamGuardPolicy()) {
        guards = Dictionary(
            uniqueKeysWithValues: UpstreamEndpoint.allCases.map { ($0, UpstreamGuard(policy, of: $0)) })
    }

    package subscript(endpoint: UpstreamEndpoint) -> UpstreamGuard {
        guard let found = guards[endpoint] else { preconditionFailure("each endpoint has a guard") }
        return found
    }

    /// Pauses an endpoint because Apple requested a pause from another node. A longer pause stays in force.
    package func pause(_ endpoint: UpstreamEndpoint, for span: Duration) { self[endpoint].pause(for: span) }

    /// Pauses one quota, because Apple answered 429 to this node or to another. A longer pause stays in force.
    package func pause(_ quota: ServerAPIQuota, for span: Duration) {
        let now = Instant.now
        quotaPauses.withLock { pauses in
            if pauses[quota] == nil, pauses.count >= Self.maximumQuotaPauses {
                pauses = pauses.filter { $0.value.until.map { now < $0 } ?? false }
                guard pauses.count < Self.maximumQuotaPauses else { return }
            }
            pauses[quota, default: UpstreamPause()].pause(until: now + span, at: now)
        }
    }

    /// Returns the rest of a quota's pause; nil if there is none.
    package func pauseRemaining(of quota: ServerAPIQuota) -> Duration? {
        let now = Instant.now
        return quotaPauses.withLock { $0[quota]?.remaining(at: now) }
    }

    package func health(of endpoint: UpstreamEndpoint) -> UpstreamHealth { self[endpoint].health }
}

/// Protects one endpoint of Apple: pause, circuit breaker, budget and concurrency limit. At the moment of the call the
/// breaker is checked again, because it may have opened meanwhile.
package final class UpstreamGuard: Sendable {
    /// The permission for one request, to be returned with its outcome.
    package struct Pass: Sendable {
        package let startedAt: Instant
        fileprivate let slot: ConcurrencyLimit.Slot
        fileprivate let permit: CircuitBreaker.Permit
    }

    fileprivate struct State: Sendable {
        var breaker: CircuitBreaker
        var limit: ConcurrencyLimit
        var pause = UpstreamPause()
        var retries = RetryBudget()
        var waiting: [Waiter<ConcurrencyLimit.Slot>] = []
        /// The moving average of request durations; zero before the first.
        var usualTime: Duration = .zero
    }

    private let endpoint: UpstreamEndpoint
    private let state: Mutex<State>
    private let budget: UpstreamBudget?
    private let maximumWaiting: Int
    private let timeouts = Timeouts()

    init(_ policy: UpstreamGuardPolicy, of endpoint: UpstreamEndpoint) {
        self.endpoint = endpoint
        // Calls of the Server API are charged to the budget of their app.
        budget = endpoint.api == .verifyReceipt ? policy.budget.map { UpstreamBudget($0, of: endpoint) } : nil
        maximumWaiting = policy.maximumWaiting
        state = Mutex(
            State(
                breaker: CircuitBreaker(policy.breaker, mode: policy.breakerMode),
                limit: ConcurrencyLimit(policy.concurrency)))
    }
}

// MARK: - Before a request

extension UpstreamGuard {
    /// Requests a pass for a call. Waits for a concurrency slot for half of the time to the call's deadline at most: a call
    /// that waited until the deadline would time out, and count as Apple's failure.
    /// - Parameters:
    ///   - limiter: counts the budget.
    ///   - charges: the charges of the call itself, beside the endpoint's budget.
    ///   - isPaused: returns true if Apple requested a pause of what the call itself uses.
    /// - Throws: the reason why the call is not sent.
    package func acquire(
        forCallBy deadline: Instant, limiter: any RateLimiter, charges: [RateCharge] = [],
        isPaused: () -> Bool = { false }
    ) async throws(DegradedReason) -> Pass {
        let now = Instant.now
        let slot = try await slot(by: now + now.duration(to: deadline) / 2)
        // While the request waited, Apple may have requested a pause, or the breaker opened.
        if let refusal = isPaused() ? .upstreamPaused : state.withLock({ $0.refusal(at: .now) }) {
            state.withLock { $0.release(slot, .neutral) }
            throw refusal
        }
        // Charged with the slot in hand: charged requests that wait would exceed the budget once slots become free.
        guard await budget?.take(from: limiter) ?? true, await limiter.admit(charges).isAdmitted else {
            state.withLock { $0.release(slot, .neutral) }
            throw .upstreamBudget
        }
        return try pass(for: slot)
    }

    private func slot(by deadline: Instant) async throws(DegradedReason) -> ConcurrencyLimit.Slot {
        let now = Instant.now
        let admission = try state.withLock { state throws(DegradedReason) in
            try state.enqueue(maximumWaiting, at: now, by: deadline)
        }
        switch admission {
        case .slot(let slot): return slot
        case .wait(let waiter):
            guard let slot = await waiter.value(waitLimit: now.duration(to: deadline), timeouts) else {
                throw .upstreamSaturated
            }
            return slot
        }
    }

    /// Checks the breaker at the moment of the call: it may have opened while the request waited.
    private func pass(for slot: ConcurrencyLimit.Slot) throws(DegradedReason) -> Pass {
        let now = Instant.now
        return try state.withLock { state throws(DegradedReason) in
            guard case .call(let permit) = state.breaker.permit(at: now) else {
                state.release(slot, .neutral)
                throw .circuitOpen
            }
            state.retries.recordCall(at: now)
            return Pass(startedAt: now, slot: slot, permit: permit)
        }
    }

    /// Returns the delay before a failed request is retried; nil for no retry.
    package func retryDelay(from start: Instant, until deadline: Instant) -> Duration? {
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        return state.withLock { $0.retries.delay(from: start, until: deadline, at: .now, using: &generator) }
    }
}

extension UpstreamGuard.State {
    fileprivate enum Admission {
        case slot(ConcurrencyLimit.Slot)
        case wait(Waiter<ConcurrencyLimit.Slot>)
    }

    fileprivate mutating func enqueue(
        _ maximumWaiting: Int, at now: Instant, by deadline: Instant
    ) throws(DegradedReason) -> Admission {
        if let refusal = refusal(at: now) { throw refusal }
        let hasRoom = waiting.count < maximumWaiting && expectedWait <= now.duration(to: deadline) / 2
        guard hasRoom else { throw .upstreamSaturated }
        if waiting.isEmpty, let slot = limit.acquire() { return .slot(slot) }
        let waiter = Waiter<ConcurrencyLimit.Slot>()
        waiting.append(waiter)
        return .wait(waiter)
    }

    /// The expected wait for a slot. A request is rejected at once if its caller had too little time left after it.
    private var expectedWait: Duration {
        limit.inFlight < limit.limit ? .zero : usualTime * (waiting.count + 1) / limit.limit
    }

    /// Returns the reason why no call may begin now, so that a request neither waits nor is charged.
    fileprivate mutating func refusal(at now: Instant) -> DegradedReason? {
        if pause.remaining(at: now) != nil { return .upstreamPaused }
        return breaker.rejects(at: now) ? .circuitOpen : nil
    }

    /// Updates the moving average of about the last eight requests.
    fileprivate mutating func recordDuration(_ took: Duration) {
        usualTime = usualTime == .zero ? took : usualTime + (took - usualTime) / 8
    }

    /// Releases a slot and gives free slots to the waiting requests in order, skipping those that have left.
    fileprivate mutating func release(_ slot: ConcurrencyLimit.Slot, _ outcome: Outcome) {
        limit.release(slot, outcome)
        var served = 0
        for waiter in waiting {
            guard let slot = limit.acquire() else { break }
            if !waiter.end(with: slot) { limit.release(slot, .neutral) }
            served += 1
        }
        waiting.removeFirst(served)
    }
}

// MARK: - After a request

extension UpstreamGuard {
    /// Returns a pass.
    /// - Parameters:
    ///   - pause: the pause that Apple asks for, if any.
    ///   - observe: receives the breaker's transitions since the last call.
    package func release(_ pass: Pass, _ outcome: Outcome, pause: Duration? = nil, _ observe: UpstreamObserver) {
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        let now = Instant.now
        let transitions = state.withLock { state in
            state.breaker.record(outcome, of: pass.permit, at: now, using: &generator)
            if let pause { state.pause.pause(until: now + pause, at: now) }
            state.recordDuration(pass.startedAt.duration(to: now))
            state.release(pass.slot, outcome)
            return state.breaker.takeTransitions()
        }
        for (transition, times) in transitions {
            for _ in 0..<times { observe(.breakerChanged(endpoint, transition)) }
        }
    }

    /// True if more requests would hardly delay clients: no request waits, the breaker is closed, and half of the slots and of
    /// the budget are free.
    var isIdle: Bool {
        let now = Instant.now
        return (budget?.isHalfFull(at: now) ?? true)
            && state.withLock { state in
                state.waiting.isEmpty && state.pause.remaining(at: now) == nil
                    && state.breaker.state.name == .closed
                    && state.limit.inFlight * 2 < state.limit.limit
            }
    }

    func pause(for span: Duration) {
        let now = Instant.now
        state.withLock { $0.pause.pause(until: now + span, at: now) }
    }

    fileprivate var health: UpstreamHealth {
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

package struct UpstreamHealth: Sendable {
    package let breaker: CircuitBreaker.State.Name
    package let breakerMode: CircuitBreaker.Mode
    /// The minimum time until it closes; nil if it is not open, or if an operator opened it.
    package let breakerOpensFor: Duration?
    package let pausedFor: Duration?
    package let inFlight: Int
    package let concurrencyLimit: Int
    package let waiting: Int
    package let budgetRemaining: Int?
}

extension CircuitBreaker.State {
    fileprivate func remaining(at now: Instant) -> Duration? {
        guard case .open(let end?) = self, now < end else { return nil }
        return now.duration(to: end)
    }
}

/// The state of the upstream, even if requests to Apple are switched off.
package struct UpstreamState: Sendable {
    package let guards: UpstreamGuards
    package let lifecycle: UpstreamLifecycle

    package init(guards: UpstreamGuards, lifecycle: UpstreamLifecycle) {
        self.guards = guards
        self.lifecycle = lifecycle
    }
}

/// The rate limit for requests to one endpoint, shared by all nodes.
final class UpstreamBudget: Sendable {
    private let charge: RateCharge
    /// The time when the bucket will be full, according to this node's last admission.
    private let fullAt: Mutex<Instant?> = Mutex(nil)

    init(_ policy: RatePolicy, of endpoint: UpstreamEndpoint) {
        // No client has an empty name.
        charge = RateCharge(RateBucket(client: "", policy: policy, subject: endpoint.storedName))
    }

    /// Takes one request from the budget; false if none is left.
    func take(from limiter: any RateLimiter) async -> Bool {
        let admission = await limiter.admit([charge])
        if let span = admission.outcomes.first?.timeUntilFull { fullAt.withLock { $0 = .now + span } }
        return admission.isAdmitted
    }

    func isHalfFull(at now: Instant) -> Bool { charge.bucket.policy.tokenBucket.capacity <= 2 * remaining(at: now) }

    func remaining(at now: Instant) -> Int {
        let bucket = charge.bucket.policy.tokenBucket
        guard let full = fullAt.withLock(\.self), now < full else { return bucket.capacity }
        return max(0, Int((bucket.timeToFill - now.duration(to: full)) / bucket.emissionInterval))
    }
}
