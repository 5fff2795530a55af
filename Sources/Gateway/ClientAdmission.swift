// SPDX-License-Identifier: Apache-2.0

package import Resilience
internal import Synchronization

/// Admits the requests of clients: each needs a concurrency slot, and tokens from all buckets that it is charged to.
package final class ClientAdmission: Sendable {
    private let rates: any RateLimiter
    private let slots: any InFlightLimiter

    package init(rates: any RateLimiter, slots: any InFlightLimiter) {
        self.rates = rates
        self.slots = slots
    }

    /// Throws `GatewayError` if the client is known to be over a rate limit or its concurrency limit. Called before the
    /// request's body is read; takes no slot and no tokens.
    package func refuseIfLimited(_ client: RequestClient) throws(GatewayError) {
        try slot(for: client)?.release()
        guard !client.charges.isEmpty, let refusal = rates.knownRefusal(of: client.charges) else { return }
        try enforce(refusal, client)
    }

    /// Does the work for a request once it has a concurrency slot, which it keeps until the end, and its tokens.
    /// - Parameter work: runs at once, or after the tokens have come from the store.
    /// - Throws: `GatewayError` if a limit is exceeded.
    package func admit<Value>(
        _ client: RequestClient, then work: @escaping @Sendable () throws -> Step<Value, any Error>
    ) throws -> Step<Value, any Error> {
        guard let slot = try slot(for: client) else { return try charge(client, then: work) }
        return try holding(slot) { try charge(client, then: work) }
    }

    /// Does the work for a request once it has its tokens. It needs no slot, because nothing is left to verify.
    package func charge<Value>(
        _ client: RequestClient, then work: @escaping @Sendable () throws -> Step<Value, any Error>
    ) throws -> Step<Value, any Error> {
        guard !client.charges.isEmpty else { return try work() }
        if let admission = rates.admitAtOnce(client.charges) {
            try enforce(admission, client)
            return try work()
        }
        return .wait {
            try self.enforce(await self.rates.admit(client.charges), client)
            // Many requests may have waited for the same tokens: the scheduler spreads their work.
            return .compute(work)
        }
    }

    private func enforce(_ admission: RateAdmission, _ client: RequestClient) throws(GatewayError) {
        client.onAdmission(admission)
        guard admission.isAdmitted else { throw .rateLimited(admission) }
    }

    private func slot(for client: RequestClient) throws(GatewayError) -> InFlightSlot? {
        guard let limit = client.inFlight else { return nil }
        guard slots.acquire(limit) else { throw .tooManyInFlight }
        return InFlightSlot(of: limit, in: slots)
    }

    /// Takes the next step, and releases the slot after the last step.
    private func holding<Value>(
        _ slot: InFlightSlot, _ take: () throws -> Step<Value, any Error>
    ) throws -> Step<Value, any Error> {
        do {
            switch try take() {
            case .done(let value):
                slot.release()
                return .done(value)
            case .compute(let next): return .compute { try self.holding(slot, next) }
            case .wait(let next):
                return .wait {
                    let reached: Step<Value, any Error>
                    do { reached = try await next() } catch {
                        slot.release()
                        throw error
                    }
                    return try self.holding(slot) { reached }
                }
            }
        } catch {
            slot.release()
            throw error
        }
    }
}

/// A concurrency slot of one request, released once: by `release`, or with the last reference. The steps of a request
/// whose client has disconnected may never run.
final class InFlightSlot: Sendable {
    private let limit: InFlightLimit
    private let slots: any InFlightLimiter
    private let isReleased = Atomic<Bool>(false)

    init(of limit: InFlightLimit, in slots: any InFlightLimiter) {
        self.limit = limit
        self.slots = slots
    }

    deinit { release() }

    func release() {
        if !isReleased.exchange(true, ordering: .relaxed) { slots.release(limit) }
    }
}
