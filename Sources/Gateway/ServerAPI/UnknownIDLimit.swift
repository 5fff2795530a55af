// SPDX-License-Identifier: Apache-2.0

internal import Resilience
internal import Synchronization

/// Limits how many transaction IDs that Apple does not know a client may name without evidence.
///
/// A lookup costs nothing if Apple knows the ID, so it is charged afterwards. Once the bucket is empty, each lookup pays
/// before Apple is called, for the time in which the bucket fills, and gets its token back if Apple knows the ID. So
/// lookups at the same time may exceed the limit once in that time, and known IDs cost nothing in the end.
final class UnknownIDLimit: Sendable {
    /// An empty bucket: lookups pay in advance until it would be full.
    private struct Emptiness {
        let end: Instant
        /// Tokens given back on this node, which the next lookups use.
        var returned = 0
    }

    private let limiter: any RateLimiter
    /// Limited by the configured clients.
    private let empty = Mutex<[RateBucket: Emptiness]>([:])

    init(_ limiter: any RateLimiter) { self.limiter = limiter }

    /// Takes a token for a lookup before Apple is called, if the bucket became empty a short time ago.
    /// - Returns: true if the lookup has paid.
    /// - Throws: `GatewayError` if there is no token.
    func admit(_ client: RequestClient) async throws(GatewayError) -> Bool {
        guard let charge = client.unknownIDs, isEmpty(charge.bucket) else { return false }
        if useReturned(of: charge.bucket) { return true }
        let admission = await limiter.admit([charge])
        guard admission.isAdmitted else { throw refusal(admission, of: client) }
        return true
    }

    /// Charges a lookup that counts, unless it has paid, and returns the token of any other lookup. A lookup without a
    /// verdict is not refused: there is no verdict to withhold.
    /// - Parameter result: nil if Apple did not answer in time.
    /// - Throws: `GatewayError` if Apple does not know the ID, and there is no token.
    func settle(_ client: RequestClient, hasPaid: Bool, _ result: UpstreamResult?) async throws(GatewayError) {
        guard let charge = client.unknownIDs else { return }
        guard Self.counts(result) else {
            if hasPaid { empty.withLock { $0[charge.bucket]?.returned += 1 } }
            return
        }
        guard !hasPaid else { return }
        let admission = await limiter.admit([charge])
        if let outcome = admission.outcomes.first, outcome.isRefusal || outcome.remaining == 0 {
            let emptiness = Emptiness(end: .now + outcome.timeUntilFull)
            // Refusals do not make the time longer.
            empty.withLock { $0[charge.bucket] = $0[charge.bucket] ?? emptiness }
        }
        if case .unknownTransaction = result, !admission.isAdmitted { throw refusal(admission, of: client) }
    }

    /// Returns true for unknown IDs, and for lookups that ended for want of time, slots or budget, which random IDs use up,
    /// or because Apple rejects the key, as it does for an app that does not exist.
    private static func counts(_ result: UpstreamResult?) -> Bool {
        switch result {
        case nil, .unknownTransaction, .accountNotFound: true
        case .unanswered(let reason):
            [.upstreamBudget, .upstreamSaturated, .serverAPIKeyRejected, .upstreamRequestRefused].contains(reason)
        case .answered, .alias: false
        }
    }

    private func refusal(_ admission: RateAdmission, of client: RequestClient) -> GatewayError {
        client.onUnknownIDs(admission)
        return .rateLimited(admission)
    }

    private func isEmpty(_ bucket: RateBucket) -> Bool {
        empty.withLock { empty in
            guard let end = empty[bucket]?.end else { return false }
            if end <= .now { empty[bucket] = nil }
            return .now < end
        }
    }

    private func useReturned(of bucket: RateBucket) -> Bool {
        empty.withLock { empty in
            guard let returned = empty[bucket]?.returned, returned > 0 else { return false }
            empty[bucket]?.returned = returned - 1
            return true
        }
    }
}
