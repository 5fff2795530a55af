// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Resilience

/// A fleet of nodes that limits one client by one bucket in Redis. Every decision is made by the gateway's own
/// `NodeBuckets`: with leases (`TokenLease`), remembered refusals, and `FairShare` while Redis is lost.
///
/// Requests to Redis take time, and other requests arrive meanwhile. As in `FleetRateLimiter`, requests at a node wait
/// for its request to Redis and share the next.
struct LimitedFleet {
    /// The deliberate faults that the check must detect.
    enum Fault: Hashable, Sendable {
        /// Redis does not age a bucket before it gives tokens in advance.
        case ignoresLeaseRule
        /// Every node assumes that it is alone.
        case countsOneNode
    }

    private struct Node {
        var buckets = NodeBuckets(maximumBuckets: 16)
        var waiting = 0
        var isSending = false
    }

    private enum Message {
        case request(node: Int, NodeBuckets.Batch, sentAt: Instant)
        case grant(node: Int, NodeBuckets.Batch, TokenGrant, sentAt: Instant)
        case failure(node: Int, NodeBuckets.Batch)
    }

    private let charges: [RateCharge]
    /// The number of live nodes, as each node knows it.
    private let liveNodes: Int
    private var nodes: [Node?]
    private var bucket: SimulatedBucket
    private var messages = EventQueue<Instant, Message>()
    private var randomness: SplitMix64
    private(set) var counts = LimitCounts()
    private(set) var ledger: SpendingLedger
    /// True while Redis does not answer. It comes back empty.
    var isStoreLost = false {
        didSet { if isStoreLost { bucket.lose() } }
    }

    init(_ policy: RatePolicy, nodes count: Int, seed: UInt64, fault: Fault? = nil) {
        charges = [RateCharge(RateBucket(client: "client", policy: policy))]
        liveNodes = fault == .countsOneNode ? 1 : count
        nodes = Array(repeating: nil, count: count)
        bucket = SimulatedBucket(policy, agesBeforeLeases: fault != .ignoresLeaseRule)
        randomness = SplitMix64(seed: seed, purpose: "store latency")
        ledger = SpendingLedger(policy.tokenBucket)
    }

    /// Handles a request that reaches a node. Times do not go back.
    mutating func receive(by index: Int, at now: Instant) {
        deliver(upTo: now)
        counts.requests += 1
        var node = take(index)
        if let admission = node.buckets.decide(charges, nodes: liveNodes, at: now) {
            record(admission, at: now)
        } else {
            node.waiting += 1
            if !node.isSending { send(from: index, &node, at: now) }
        }
        nodes[index] = node
    }

    /// Delivers the messages between nodes and Redis.
    mutating func deliver(upTo limit: Instant) {
        while let (now, message) = messages.popFirst(upTo: limit) { handle(message, at: now) }
    }

    private mutating func send(from index: Int, _ node: inout Node, at now: Instant) {
        node.isSending = node.waiting > 0
        guard node.waiting > 0 else { return }
        let batch = node.buckets.prepare(charges, requests: node.waiting, at: now)
        node.waiting = 0
        messages.add(.request(node: index, batch, sentAt: now), at: now + latency())
    }

    private mutating func handle(_ message: Message, at now: Instant) {
        switch message {
        case .request(let index, let batch, let sentAt):
            guard !isStoreLost else { return messages.add(.failure(node: index, batch), at: now) }
            counts.storeRequests += 1
            let grant = bucket.take(batch.order, at: now)
            messages.add(.grant(node: index, batch, grant, sentAt: sentAt), at: now + latency())
        case .grant(let index, let batch, let grant, let sentAt):
            update(index) { fleet, node in
                let admissions = node.buckets.settle(
                    batch, with: grant, nodes: fleet.liveNodes, requestedAt: sentAt, at: now)
                for admission in admissions { fleet.record(admission, at: now) }
                fleet.sendNext(from: index, &node, at: now)
            }
        case .failure(let index, let batch):
            update(index) { fleet, node in
                node.buckets.abandon(batch, at: now)
                let undecided = batch.order.requests + node.waiting
                (node.waiting, node.isSending) = (0, false)
                for _ in 0..<undecided {
                    fleet.record(node.buckets.decideAlone(fleet.charges, nodes: fleet.liveNodes, at: now), at: now)
                }
            }
        }
    }

    /// Removes a node from the list, so that its change copies nothing.
    private mutating func take(_ index: Int) -> Node {
        defer { nodes[index] = nil }
        return nodes[index] ?? Node()
    }

    private mutating func update(_ index: Int, _ change: (inout LimitedFleet, inout Node) -> Void) {
        var node = take(index)
        change(&self, &node)
        nodes[index] = node
    }

    /// Decides waiting requests by what the node knows now, and sends the remaining requests to Redis.
    private mutating func sendNext(from index: Int, _ node: inout Node, at now: Instant) {
        while node.waiting > 0, let admission = node.buckets.decide(charges, nodes: liveNodes, at: now) {
            node.waiting -= 1
            record(admission, at: now)
        }
        send(from: index, &node, at: now)
    }

    private mutating func record(_ admission: RateAdmission, at now: Instant) {
        counts.add(admission)
        if admission.isAdmitted { ledger.record(charges[0].cost, at: now) }
    }

    /// A way to Redis or back: 0.1 to 1 ms.
    private mutating func latency() -> Duration { .microseconds(100 + randomness.index(below: 900)) }
}

/// The decisions of a fleet about one client.
struct LimitCounts: Hashable, Sendable {
    var requests = 0
    var admitted = 0
    /// Requests that tokens taken in advance admitted, without Redis.
    var leased = 0
    /// Requests that a remembered refusal refused, without Redis.
    var remembered = 0
    /// Requests that `FairShare` decided, while Redis was lost.
    var shared = 0
    /// Script calls to Redis.
    var storeRequests = 0

    mutating func add(_ admission: RateAdmission) {
        if admission.isAdmitted { admitted += 1 }
        switch admission.outcomes[0].source {
        case .lease: leased += 1
        case .rememberedRefusal: remembered += 1
        case .localShare: shared += 1
        case .store, .open, .closed: break
        }
    }
}
