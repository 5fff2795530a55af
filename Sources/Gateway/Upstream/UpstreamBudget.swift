// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import RateLimits
internal import Resilience
internal import Synchronization

/// The rate limit for requests to one endpoint, shared by all nodes.
final class UpstreamBudget: Sendable {
    private let charge: RateCharge
    /// The time when the bucket will be full, according to this node's last admission.
    private let fullAt: Mutex<Instant?> = Mutex(nil)

    init(_ policy: RatePolicy, of endpoint: UpstreamEndpoint) {
        // No client has an empty name.
        charge = RateCharge(RateBucket(tenant: "", policy: policy, subject: endpoint.storedName))
    }

    /// Takes one request from the budget; false if none is left.
    /// - Parameter limiter: counts the requests, of all nodes if it is shared.
    func take(from limiter: any RateLimiter) async -> Bool {
        let admission = await limiter.admit([charge])
        if let span = admission.outcomes.first?.timeUntilFull { fullAt.withLock { $0 = .now + span } }
        return admission.isAdmitted
    }

    func remaining(at now: Instant) -> Int {
        let bucket = charge.bucket.policy.tokenBucket
        guard let full = fullAt.withLock(\.self), now < full else { return bucket.capacity }
        return max(0, Int((bucket.timeToFill - now.duration(to: full)) / bucket.emissionInterval))
    }
}
