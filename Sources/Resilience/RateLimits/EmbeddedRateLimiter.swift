// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Limits rates within this process, for a gateway that runs alone.
package final class EmbeddedRateLimiter: RateLimiter {
    private let buckets: Mutex<BucketTable<TokenBucket>>
    private let clock: @Sendable () -> Instant

    /// - Parameter maximumBuckets: the number of buckets kept apart that are not full; each takes about 400 bytes.
    package init(
        maximumBuckets: Int = FleetRateLimiter.Limits.buckets, clock: @escaping @Sendable () -> Instant = { .now }
    ) {
        buckets = Mutex(BucketTable(maximumCount: maximumBuckets))
        self.clock = clock
    }

    package func admit(_ charges: [RateCharge]) -> RateAdmission {
        let now = clock()
        return buckets.withLock { Self.admit(charges, from: &$0, at: now) }
    }

    package func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission? { admit(charges) }

    package func knownRefusal(of charges: [RateCharge]) -> RateAdmission? {
        let now = clock()
        return buckets.withLock { buckets in
            let isRefused = charges.contains { charge in
                var bucket = buckets.value(of: charge.bucket)
                return charge.isRefused(by: bucket?.take(charge.cost, at: now))
            }
            return isRefused ? Self.admit(charges, from: &buckets, at: now) : nil
        }
    }

    var count: Int { buckets.withLock { $0.count } }

    private static func admit(
        _ charges: [RateCharge], from buckets: inout BucketTable<TokenBucket>, at now: Instant
    ) -> RateAdmission {
        let locations = buckets.locations(of: charges) {
            $0.timeUntilFull(at: now) == .zero
        } make: { policy, _ in
            TokenBucket(policy.tokenBucket)
        }
        let decisions = buckets.takeAll(charges, at: locations) { bucket, charge in
            BucketDecision(decision: bucket.take(charge.cost, at: now), source: .store)
        }
        return RateAdmission(
            outcomes: charges.indices.map { index in
                let bucket = buckets[locations[index]]
                return RateAdmission.Outcome(
                    charge: charges[index], decision: decisions[index].decision, remaining: bucket.remaining(at: now),
                    timeUntilFull: bucket.timeUntilFull(at: now), source: decisions[index].source)
            })
    }
}
