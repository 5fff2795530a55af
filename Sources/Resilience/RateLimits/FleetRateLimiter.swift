// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits rates for a fleet: by shared buckets, by tokens that this node took in advance, and by remembered refusals.
///
/// Requests with equal charges share requests to the store: while a store request is in flight, new requests wait and
/// share the next. So a request waits for two store requests at most, and for none once the store has failed.
package final class FleetRateLimiter: RateLimiter {
    package enum Limits {
        /// Buckets kept apart, among all buckets with a state worth keeping.
        package static let buckets = 65_536
        /// The time a refusal is remembered before the next request to the store.
        package static let memory: Duration = .seconds(1)
        /// Requests waiting for the store, all in one batch if alike. Beyond it, requests are decided as if the store
        /// had failed.
        package static let waiting = 10_000
    }

    private typealias Waiter = CheckedContinuation<RateAdmission, Never>

    private struct State {
        var buckets: NodeBuckets
        /// The waiting requests by charges. A list, even an empty one, means that a request to the store is in flight.
        var waiting: [[RateCharge]: [Waiter]] = [:]
        var waitingCount = 0
    }

    private let buckets: any SharedBuckets
    private let liveNodes: @Sendable () -> Int
    private let clock: @Sendable () -> Instant
    private let state: Mutex<State>

    /// - Parameter liveNodes: returns the number of nodes that share the limits now, this node included.
    package init(
        _ buckets: any SharedBuckets, liveNodes: @escaping @Sendable () -> Int,
        clock: @escaping @Sendable () -> Instant = { .now }
    ) {
        self.buckets = buckets
        self.liveNodes = liveNodes
        self.clock = clock
        state = Mutex(State(buckets: NodeBuckets(maximumBuckets: Limits.buckets)))
    }

    var waitingCount: Int { state.withLock { $0.waitingCount } }

    package func admit(_ charges: [RateCharge]) async -> RateAdmission {
        if let admission = admitAtOnce(charges) { return admission }
        return await withCheckedContinuation { queue($0, for: charges, nodes: liveNodes()) }
    }

    /// Decides with leased tokens, or by a remembered refusal.
    package func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission? {
        let (nodes, now) = (liveNodes(), clock())
        return state.withLock { $0.buckets.decide(charges, nodes: nodes, at: now) }
    }

    /// Returns a remembered refusal: the store refused the same a moment ago.
    package func knownRefusal(of charges: [RateCharge]) -> RateAdmission? {
        let (nodes, now) = (liveNodes(), clock())
        return state.withLock { $0.buckets.knownRefusal(of: charges, nodes: nodes, at: now) }
    }

    private func queue(_ waiter: Waiter, for charges: [RateCharge], nodes: Int) {
        let now = clock()
        let (admission, isFirst) = state.withLock { state -> (RateAdmission?, Bool) in
            guard state.waitingCount < Limits.waiting else {
                return (state.buckets.decideAlone(charges, nodes: nodes, at: now), false)
            }
            defer { state.waiting[charges, default: []].append(waiter) }
            state.waitingCount += 1
            return (nil, state.waiting[charges] == nil)
        }
        if let admission { waiter.resume(returning: admission) }
        // Detached, because other requests share it and must not lose it when the first request is cancelled.
        if isFirst { Task.detached { await self.run(charges) } }
    }

    /// Sends batches of waiting requests to the store until none wait.
    private func run(_ charges: [RateCharge]) async {
        while let (batch, waiters) = dequeue(charges) {
            let requestedAt = clock()
            do throws(SharedBucketsFault) {
                let delivery = try await buckets.take(batch.order)
                land(batch, waiters, delivery, requestedAt: requestedAt)
            } catch {
                giveUp(batch, waiters)
            }
        }
    }

    /// Resumes the requests that can be decided now, and prepares a batch of the remaining requests.
    private func dequeue(_ charges: [RateCharge]) -> (NodeBuckets.Batch, [Waiter])? {
        let (nodes, now) = (liveNodes(), clock())
        var decided: [(Waiter, RateAdmission)] = []
        defer { for (waiter, admission) in decided { waiter.resume(returning: admission) } }
        return state.withLock { state in
            var waiters = state.waiting[charges, default: []][...]
            while let first = waiters.first,
                let admission = state.buckets.decide(charges, nodes: nodes, at: now)
            {
                decided.append((first, admission))
                waiters.removeFirst()
            }
            state.waitingCount -= decided.count + waiters.count
            state.waiting[charges] = waiters.isEmpty ? nil : []
            guard !waiters.isEmpty else { return nil }
            return (state.buckets.prepare(charges, requests: waiters.count, at: now), Array(waiters))
        }
    }

    private func land(_ batch: NodeBuckets.Batch, _ waiters: [Waiter], _ delivery: TokenGrant, requestedAt: Instant) {
        let (nodes, now) = (liveNodes(), clock())
        let admissions = state.withLock {
            $0.buckets.settle(batch, with: delivery, nodes: nodes, requestedAt: requestedAt, at: now)
        }
        for (waiter, admission) in zip(waiters, admissions) { waiter.resume(returning: admission) }
    }

    /// Decides without the store after a failure: no request waits for it a second time.
    private func giveUp(_ batch: NodeBuckets.Batch, _ waiters: [Waiter]) {
        let (nodes, now) = (liveNodes(), clock())
        let decided = state.withLock { state in
            state.buckets.abandon(batch, at: now)
            let others = state.waiting.updateValue([], forKey: batch.charges) ?? []
            state.waitingCount -= others.count
            return (waiters + others).map { waiter in
                (waiter, state.buckets.decideAlone(batch.charges, nodes: nodes, at: now))
            }
        }
        for (waiter, admission) in decided { waiter.resume(returning: admission) }
    }
}

package protocol SharedBuckets: Sendable {
    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant
}

/// A request for the tokens of equal requests. As many are admitted as all enforced buckets have tokens for, and only
/// their tokens are taken.
package struct TokenRequest: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        /// The bucket, and the cost of one request.
        package let charge: RateCharge
        /// The number of tokens that the node holds already and contributes.
        package internal(set) var prepaid = 0
        /// The number of tokens that the node wants in advance. They are given only if all requests are admitted, and
        /// only half of what is left then; `TokenLease` states the rule for taking them.
        package internal(set) var inAdvance = 0
        /// The life of tokens taken in advance, as the bucket counts it; zero if none are wanted.
        package internal(set) var life: Duration = .zero
    }

    /// The number of requests, at least 1.
    package let requests: Int
    package let lines: [Line]
}

package struct TokenGrant: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        /// The number of requests that the bucket has tokens for; it gave the tokens of the admitted requests. Fewer
        /// than admitted only if the bucket is not enforced.
        package let requests: Int
        package let inAdvance: Int
        package let timeUntilFull: Duration
        /// The time until it has tokens for one more such request; zero if it has them.
        package let timeUntilNext: Duration

        package init(requests: Int, inAdvance: Int, timeUntilFull: Duration, timeUntilNext: Duration) {
            self.requests = requests
            self.inAdvance = inAdvance
            self.timeUntilFull = timeUntilFull
            self.timeUntilNext = timeUntilNext
        }
    }

    package let admitted: Int
    package let lines: [Line]

    package init(admitted: Int, lines: [Line]) {
        self.admitted = admitted
        self.lines = lines
    }
}

/// A failed request for tokens: the store is unreachable, does not reply in time, rejects the request or sends an invalid
/// reply. The request may have been executed.
package struct SharedBucketsFault: Error, Hashable, Sendable {
    package init() {}
}
