// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The choice of the queues that this node works on: a fair share of all, and those that other nodes leave.
struct LeaseAllocation: Sendable {
    enum Limits {
        /// The time after which a queue without a lease is taken beyond the fair share.
        static let waitLimit: Duration = QueueDeliveries.Limits.lease
    }

    private var share = 0
    /// The queues without a lease, and the time at which each was first seen so.
    private var freeSince: [DeliveryQueue: Timestamp] = [:]
    /// The queues taken beyond the share, which are kept until the share changes.
    private var leftovers: Set<DeliveryQueue> = []

    /// Returns the queues to release.
    mutating func surplus(
        of owned: [DeliveryQueue], wanted: Set<DeliveryQueue>, liveNodes: Int
    ) -> [DeliveryQueue] {
        let newShare = (wanted.count + max(1, liveNodes) - 1) / max(1, liveNodes)
        if newShare != share { (share, leftovers) = (newShare, []) }
        let kept = owned.filter(wanted.contains)
        leftovers.formIntersection(kept)
        let surplus = max(0, kept.count - leftovers.count - share)
        return owned.filter { !wanted.contains($0) } + kept.filter { !leftovers.contains($0) }.suffix(surplus)
    }

    /// Returns the queues to take.
    /// - Parameters:
    ///   - free: the queues without a lease.
    ///   - ownedCount: the number of queues that this node has.
    mutating func additions(
        from free: [DeliveryQueue], ownedCount: Int, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> [DeliveryQueue] {
        let known = freeSince
        freeSince = Dictionary(free.map { ($0, known[$0] ?? now) }) { first, _ in first }
        // At random, so that nodes do not compete for the same queues.
        let free = free.shuffled(using: &generator)
        let fair = free.prefix(max(0, share - ownedCount + leftovers.count))
        let left = free.dropFirst(fair.count).filter { queue in
            freeSince[queue].map { $0.advanced(by: Limits.waitLimit) <= now } ?? false
        }
        leftovers.formUnion(left)
        return fair + left
    }
}
