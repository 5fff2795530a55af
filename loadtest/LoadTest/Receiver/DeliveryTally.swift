// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The counts of one endpoint's deliveries. The memory of a million events is about 50 MB: IDs are kept as digests.
struct DeliveryTally: Sendable {
    enum Limits {
        /// The IDs, and again the chains, that are kept; later IDs are counted as `untracked`.
        static let digests = 2_000_000
    }

    /// In `GET /stats`, in snake case.
    struct Counts: Hashable, Sendable, Codable {
        /// Requests at the endpoint's path, whatever the answer.
        var requests = 0
        /// Requests at any other path: redirects that were followed.
        var elsewhere = 0
        /// Requests whose signature is missing, wrong, or too old.
        var unsigned = 0
        /// Requests without an event, or with fields that disagree with it.
        var malformed = 0
        /// Requests that a fault refused, before their content counts.
        var refused = 0
        /// Deliveries that the endpoint took: `distinct`, `duplicates` and `untracked`.
        var accepted = 0
        var distinct = 0
        var duplicates = 0
        /// Distinct events of a chain with an earlier `timestamp` than an event that arrived before.
        var orderViolations = 0
        /// Events that follow an event that was given up.
        var gaps = 0
        var untracked = 0
    }

    private struct Chain {
        /// The time of the latest event.
        var time = ""
        /// Of all IDs in the order of their first delivery.
        var order: UInt64 = 0
    }

    private(set) var counts = Counts()
    private(set) var first, last: ContinuousClock.Instant?
    private var ids: Set<UInt64> = []
    private var chains: [UInt64: Chain] = [:]
    /// A digest of the order within each chain, equal at two endpoints that received the same events of each chain in
    /// the same order, whatever the order of different chains and the duplicates.
    private(set) var order: UInt64 = 0

    mutating func count(_ counter: WritableKeyPath<Counts, Int>) { counts[keyPath: counter] += 1 }

    /// Counts a delivery that the endpoint took.
    mutating func accept(id: String, _ event: ReceivedEvent?, at now: ContinuousClock.Instant) {
        counts.accepted += 1
        first = first ?? now
        last = now
        let digest = Self.digest(of: id)
        guard !ids.contains(digest) else { return counts.duplicates += 1 }
        guard ids.count < Limits.digests else { return counts.untracked += 1 }
        ids.insert(digest)
        counts.distinct += 1
        if let event { append(event, digest) }
    }

    private mutating func append(_ event: ReceivedEvent, _ digest: UInt64) {
        if event.followsGap { counts.gaps += 1 }
        guard let id = event.chain else { return }
        let key = Self.digest(of: id)
        var chain = chains[key] ?? Chain()
        if event.time < chain.time { counts.orderViolations += 1 }
        order ^= chain.order
        chain = Chain(time: max(chain.time, event.time), order: Self.following(chain.order, digest))
        order ^= chain.order
        chains[key] = chain
    }

    /// Returns the digest of a sequence with one more element.
    private static func following(_ order: UInt64, _ digest: UInt64) -> UInt64 {
        // Knuth's multiplier, and a rotation: the order of elements matters.
        let mixed = (order ^ digest) &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return mixed << 23 | mixed >> 41
    }

    /// Returns FNV-1a, which does not depend on the process: IDs are even already, and no receiver's guess depends on
    /// it.
    private static func digest(of id: String) -> UInt64 {
        id.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
