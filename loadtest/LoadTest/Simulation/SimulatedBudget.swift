// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// Apple's budget of one app for two operations, shared by a fleet. The gateway's `NodeBuckets` decide, over a Redis
/// that answers at once.
struct SimulatedBudget {
    /// The operations that a customer's refresh needs.
    enum Operation: Int, CaseIterable, Sendable {
        case transactionHistory
        case subscriptionStatuses
    }

    /// The budget of the gateway's default settings for an operation with 50 calls a second: 90 % of Apple's hourly
    /// limit, as `ServerAPIBudget` makes it. Never leased.
    static let policy = RatePolicy(
        name: "budget", quota: 159_344, window: .seconds(3600), burst: 2655, isLeased: false)
    /// The calls that the policy admits at most in an hour.
    static let callsPerHour = 162_000

    private var nodes: [NodeBuckets]
    private var buckets: [SimulatedBucket]
    private let charges: [[RateCharge]]
    private(set) var storeRequests = 0
    /// True while the shard with the buckets does not answer. It comes back empty.
    var isStoreLost = false {
        didSet { if isStoreLost { for index in buckets.indices { buckets[index].lose() } } }
    }

    init(nodes count: Int) {
        nodes = Array(repeating: NodeBuckets(maximumBuckets: 16), count: count)
        buckets = Operation.allCases.map { _ in SimulatedBucket(Self.policy) }
        charges = Operation.allCases.map {
            [RateCharge(RateBucket(client: "", policy: Self.policy, subject: "\($0.rawValue)"))]
        }
    }

    /// Takes one call from the budget; false if none is left.
    mutating func take(_ operation: Operation, by node: Int, at now: Instant) -> Bool {
        let charges = charges[operation.rawValue]
        if let known = nodes[node].decide(charges, nodes: nodes.count, at: now) { return known.isAdmitted }
        guard !isStoreLost else {
            return nodes[node].decideAlone(charges, nodes: nodes.count, at: now).isAdmitted
        }
        let batch = nodes[node].prepare(charges, requests: 1, at: now)
        storeRequests += 1
        let grant = buckets[operation.rawValue].take(batch.order, at: now)
        let admissions = nodes[node].settle(batch, with: grant, nodes: nodes.count, requestedAt: now, at: now)
        return admissions.allSatisfy(\.isAdmitted)
    }
}
