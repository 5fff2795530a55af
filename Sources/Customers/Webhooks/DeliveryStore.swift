// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import Receipts

/// The deliveries of one partition's events to one endpoint. At any time one node works on it.
package struct DeliveryQueue: Hashable, Sendable {
    /// The endpoint's name (`WebhookEndpoint.name`). Its state survives a change of its URL and keys.
    package var endpoint: String
    package var partition: AppPartition
    package var stream: EventStream

    package init(endpoint: String, partition: AppPartition, stream: EventStream) {
        (self.endpoint, self.partition, self.stream) = (endpoint, partition, stream)
    }
}

package struct DeliveryState: Hashable, Sendable {
    /// The last event that was read: delivered, or in `held`. Nil for a new endpoint, which begins at the newest.
    package var position: EventPosition?
    /// The events behind `position` that are not delivered: failed events, and later events of the same chain.
    package var held: [HeldEvent] = []
    /// The chains whose next event is marked with `gap`.
    package var gaps: Set<String> = []
    /// The time at which the endpoint answered 410, since when it gets nothing; nil if it is enabled.
    package var disabledAt: Timestamp?

    package init() {}
}

package struct HeldEvent: Hashable, Sendable {
    package var position: EventPosition
    /// The chain, whose events stay in order, as a digest; the event's ID for an event about no chain.
    package var chain: String
    /// The failed attempts; 0 for an event that waits behind another event of its chain.
    package var attempts: Int
    /// The time of the next attempt; nil for an event that waits behind another event.
    package var nextAttempt: Timestamp?
    package var firstAttempt: Timestamp?

    package init(_ position: EventPosition, chain: String) {
        (self.position, self.chain) = (position, chain)
        attempts = 0
    }
}

package struct DeadDelivery: Hashable, Sendable {
    package var position: EventPosition
    package var eventID: String
    package var chain: String
    package var attempts: Int
    /// The last fault, in the words of metrics (`DeliveryFault.rawValue`).
    package var reason: String
    package var time: Timestamp

    package init(
        position: EventPosition, eventID: String, chain: String, attempts: Int, reason: String, time: Timestamp
    ) {
        (self.position, self.eventID, self.chain) = (position, eventID, chain)
        (self.attempts, self.reason, self.time) = (attempts, reason, time)
    }
}

/// Changes of a queue's state, written in one step.
package struct DeliveryChanges: Hashable, Sendable {
    package var position: EventPosition?
    /// Added or replaced, by position.
    package var held: [HeldEvent] = []
    package var removed: [EventPosition] = []
    package var dead: [DeadDelivery] = []
    package var gapsAdded: Set<String> = []
    package var gapsRemoved: Set<String> = []
    /// The time of a 410; nil for no change.
    package var disabledAt: Timestamp?

    package init() {}

    package var isEmpty: Bool { self == DeliveryChanges() }
}

/// The reason why a queue's state was not written.
package enum DeliveryStoreFault: Error, Hashable, Sendable {
    /// Another node has the queue now.
    case leaseLost
    case unreachable
}

package struct DeliverySurvey: Hashable, Sendable {
    package var position: EventPosition?
    package var held = 0
    package var dead = 0
    package var disabledAt: Timestamp?
    package var unread: UInt64 = 0
    /// The time since the oldest undelivered event was written; nil if all are delivered.
    package var lag: Duration?
    package var isLeased = false

    package init() {}
}

/// The state of deliveries, shared by the nodes.
package protocol DeliveryStore: Sendable {
    /// Sets the position of new queues to the newest event, so that they get the next event whenever a node takes them.
    func begin(_ queues: [DeliveryQueue]) async throws(StoreUnreachable)

    /// Takes the lease of a queue, and reads its state; nil if another node has it.
    func acquire(_ queue: DeliveryQueue, for lease: Duration) async throws(StoreUnreachable) -> DeliveryState?

    /// Writes changes, and renews the lease, in one step. Without changes only the lease is renewed.
    func save(_ changes: DeliveryChanges, of queue: DeliveryQueue, renewing lease: Duration)
        async throws(DeliveryStoreFault)

    /// Ends the lease, so that another node may take it at once.
    func release(_ queue: DeliveryQueue) async

    // MARK: For operators

    func survey(_ queues: [DeliveryQueue]) async throws(StoreUnreachable) -> [DeliverySurvey]
    /// Returns the dead deliveries of a queue, the newest first.
    func dead(_ queue: DeliveryQueue, maximum: Int) async throws(StoreUnreachable) -> [DeadDelivery]
    /// Moves dead deliveries, all if `eventID` is nil, back to the held events, for an attempt at once, and returns
    /// their number. The worker that has the lease loses it, and the state is read anew.
    func redeliver(_ queue: DeliveryQueue, eventID: String?) async throws(StoreUnreachable) -> Int
    /// Sets the position back or forward, and enables the endpoint. The worker that has the lease loses it.
    func rewind(_ queue: DeliveryQueue, to position: EventPosition) async throws(StoreUnreachable)
    /// Enables a disabled endpoint. The worker that has the lease loses it.
    func enable(_ queue: DeliveryQueue) async throws(StoreUnreachable)
}

extension Event {
    /// A digest of the purchase chain; the event's ID for an event about none.
    var chain: String {
        guard let originalTransactionID else { return id }
        return PurchaseChain(
            bundleID: bundleID, environment: environment, originalTransactionID: originalTransactionID
        ).deliveryName
    }
}

extension PurchaseChain {
    /// The digest by which deliveries know the chain.
    package var deliveryName: String {
        let digest = HashFunction.sha256.digest(of: Array("\(environment.rawValue) \(originalTransactionID)".utf8))
        return Base64.encode(Array(digest.prefix(15)))
    }
}
