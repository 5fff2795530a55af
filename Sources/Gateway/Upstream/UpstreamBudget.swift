// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import RateLimits
internal import Resilience
internal import Synchronization

/// How often one endpoint may be asked, by all nodes together.
final class UpstreamBudget: Sendable {
    private let charge: RateCharge
    /// When the bucket will be full, as far as this node has been told.
    private let fullAt: Mutex<Instant?> = Mutex(nil)

    init(_ policy: RatePolicy, of endpoint: UpstreamEndpoint) {
        // No client has an empty name.
        charge = RateCharge(RateBucket(tenant: "", policy: policy, subject: endpoint.storedName))
    }

    /// Takes a question out of the budget; false if none is left.
    /// - Parameter limiter: counts, for all nodes where it is one for all.
    func take(from limiter: any RateLimiter) async -> Bool {
        let admission = await limiter.admit([charge])
        if let span = admission.outcomes.first?.timeUntilFull { fullAt.withLock { $0 = .now + span } }
        return admission.isAdmitted
    }

    /// How many questions are left.
    func remaining(at now: Instant) -> Int {
        let bucket = charge.bucket.policy.tokenBucket
        guard let full = fullAt.withLock(\.self), now < full else { return bucket.capacity }
        return max(0, Int((bucket.timeToFill - now.duration(to: full)) / bucket.emissionInterval))
    }
}
