// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import RateLimits
internal import Synchronization

/// Admits the requests of clients to the work that they cost: each needs a slot in flight, and the tokens of all buckets
/// that it is charged to.
public final class ClientAdmission: Sendable {
    private let rates: any RateLimiter
    private let slots: any InFlightLimiter

    /// Creates the admission of one node.
    /// - Parameters:
    ///   - rates: holds the token buckets of clients.
    ///   - slots: counts the requests of clients that are in flight.
    public init(rates: any RateLimiter, slots: any InFlightLimiter) {
        self.rates = rates
        self.slots = slots
    }

    /// Throws `GatewayError` for a caller whose charges are known to be refused, or that has as many requests in flight as
    /// it may: for a request whose body is not read yet. Takes nothing.
    public func refuseIfLimited(_ caller: Caller) throws(GatewayError) {
        try slot(for: caller)?.release()
        guard !caller.charges.isEmpty, let refusal = rates.knownRefusal(of: caller.charges) else { return }
        try enforce(refusal, caller)
    }

    /// Does the work for a request once it has a slot in flight and its tokens. It keeps the slot until the work is done.
    /// - Parameter work: is done at once, or after the tokens have come from the store.
    /// - Throws: `GatewayError` if the caller may not ask now.
    public func admit<Value>(
        _ caller: Caller, then work: @escaping @Sendable () throws -> Step<Value, any Error>
    ) throws -> Step<Value, any Error> {
        guard let slot = try slot(for: caller) else { return try charge(caller, then: work) }
        return try holding(slot) { try charge(caller, then: work) }
    }

    /// Does the work for a request once it has its tokens. It needs no slot, because nothing is left to verify.
    /// - Parameter work: is done at once, or after the tokens have come from the store.
    /// - Throws: `GatewayError` if the caller may not ask now.
    public func charge<Value>(
        _ caller: Caller, then work: @escaping @Sendable () throws -> Step<Value, any Error>
    ) throws -> Step<Value, any Error> {
        guard !caller.charges.isEmpty else { return try work() }
        if let admission = rates.admitAtOnce(caller.charges) {
            try enforce(admission, caller)
            return try work()
        }
        return .wait {
            try self.enforce(await self.rates.admit(caller.charges), caller)
            // Many may have waited for the same tokens: each takes its turn.
            return .compute(work)
        }
    }

    private func enforce(_ admission: RateAdmission, _ caller: Caller) throws(GatewayError) {
        caller.onAdmission(admission)
        guard admission.isAdmitted else { throw .rateLimited(admission) }
    }

    private func slot(for caller: Caller) throws(GatewayError) -> InFlightSlot? {
        guard let limit = caller.inFlight else { return nil }
        guard slots.acquire(limit) else { throw .tooManyInFlight }
        return InFlightSlot(of: limit, in: slots)
    }

    /// Takes the next step, and releases the slot with the last one.
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
                    let reached = await Result(next)
                    return try self.holding(slot) { try reached.get() }
                }
            }
        } catch {
            slot.release()
            throw error
        }
    }
}

/// A slot that a request holds. It is released once: by `release`, or with the last reference, because the steps of a
/// request whose client is gone may never be taken.
private final class InFlightSlot: Sendable {
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

extension Result where Failure == any Error, Success: Sendable {
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
