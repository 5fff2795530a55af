// SPDX-License-Identifier: Apache-2.0

import Receipts
import Redis
import Testing

@testable import Customers
@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

/// A customer of whom every store has something.
struct StoredCustomer: Sendable {
    static let bundleID = NotificationSamples.bundleID

    let originalTransactionID: String
    /// The name of the purchase before Apple renamed it.
    let previousID: String
    let number: Int

    /// Two customers whose events are in the same logs.
    static let two: [StoredCustomer] = {
        let first = "573918264037159"
        let partition = AppPartition(bundleID: bundleID, of: first)
        let others = (2...999).lazy.map { "84602739518\(1000 + $0)" }
        let second = others.first { AppPartition(bundleID: bundleID, of: $0) == partition } ?? ""
        return [
            StoredCustomer(originalTransactionID: first, previousID: "319475860212345", number: 1),
            StoredCustomer(originalTransactionID: second, previousID: "967082415398761", number: 2),
        ]
    }()

    var chain: PurchaseChain { chain(originalTransactionID) }
    var partition: AppPartition { chain.partition }
    var queue: DeliveryQueue { DeliveryQueue(endpoint: "shop/crm", partition: partition, stream: .events) }

    private func chain(_ id: String) -> PurchaseChain {
        PurchaseChain(bundleID: Self.bundleID, environment: .sandbox, originalTransactionID: id)
    }

    /// Writes to every store.
    func write(to stage: NotificationStage, _ cache: RedisUpstreamCache) async throws {
        try await writeNotifications(to: stage)
        try await writeStates(to: stage)
        try await writeEvents(to: stage)
        try await writeDeliveries(to: stage)
        let key = try StoreSamples.key().naming(originalTransactionID)
        await cache.keep(StoreSamples.known(naming: [originalTransactionID]), for: key)
        let alias = TransactionAlias(
            originalTransactionID: originalTransactionID, environment: .sandbox, bundleID: Self.bundleID)
        let known = CachedResult(
            .alias(alias), fetchedAt: StoreSamples.time(100), freshUntil: StoreSamples.time(1000))
        await cache.keep(known, for: try StoreSamples.key().naming("9\(number)00"))
    }

    // MARK: Notifications

    /// A dead letter, and a pending notification. Both are relayed.
    private func writeNotifications(to stage: NotificationStage) async throws {
        let store = stage.store(relays: true)
        _ = try await store.store(notification("dead"), NotificationSamples.identity(10 * number), in: partition)
        let taken = await store.take(from: partition, includingStalled: false)
        for taken in taken where try taken.record.get() == notification("dead") {
            await store.discard(taken, .notGenuine, in: partition)
        }
        _ = try await store.store(notification("new"), NotificationSamples.identity(10 * number + 1), in: partition)
    }

    /// A notification as Apple posts it: signed payloads within a signed payload.
    private func notification(_ id: String) -> NotificationRecord {
        func jws(_ payload: String) -> String { "aa.\(Base64.encodeURL(Array(payload.utf8))).bb" }
        let signed = jws(
            #"{"originalTransactionId":"\#(originalTransactionID)","productId":"monthly","quantity":1,"price":0,"bundleId":"com.example.forge"}"#
        )
        let payload = jws(
            #"{"notificationUUID":"\#(id)\#(number)","data":{"environment":"Sandbox","signedTransactionInfo":"\#(signed)"}}"#
        )
        return NotificationSamples.record(#"{"signedPayload":"\#(payload)"}"#)
    }

    // MARK: States

    /// The state of a purchase that Apple renamed, under both names.
    private func writeStates(to stage: NotificationStage) async throws {
        var transaction = Transaction(productID: "monthly", transactionID: originalTransactionID + "9")
        transaction.originalTransactionID = originalTransactionID
        transaction.expiresDate = StoreSamples.time(1000)
        var fields = SignedTransactionFields()
        (fields.signedDate, fields.previousOriginalTransactionID) = (StoreSamples.time(1), previousID)
        transaction.signedFields = .value(fields)
        let updates = [originalTransactionID, previousID].map {
            CustomerStateUpdate(chain($0), [.transaction(transaction)])
        }
        let store = stage.store(clock: { StoreSamples.time(2) })
        for outcome in await store.merge(updates) { #expect(try outcome.get().changed) }
    }

    // MARK: Events

    var ownEvents: [Event] { [event("one", originalTransactionID), event("two", previousID), event("three", nil)] }

    /// One of the purchase, one of its previous name, and one about no purchase that names it.
    private func writeEvents(to stage: NotificationStage) async throws {
        for event in ownEvents { try await stage.append(event, to: partition) }
    }

    private func event(_ change: String, _ id: String?) -> Event {
        Event(
            id: Event.id(change, bundleID: Self.bundleID, .sandbox, cause: ["\(number)"]), type: .subscriptionRenewed,
            bundleID: Self.bundleID, environment: .sandbox, originalTransactionID: id,
            occurredAt: StoreSamples.time(3),
            json: Array(#"{"data":{"transaction":{"original_transaction_id":"\#(id ?? originalTransactionID)"}}}"#.utf8)
        )
    }

    // MARK: Deliveries

    /// A held delivery, a dead one, and a gap.
    private func writeDeliveries(to stage: NotificationStage) async throws {
        let store = stage.deliveries(), logged = try await events(of: stage).filter { ownEvents.contains($0.event) }
        _ = try await store.acquire(queue, for: .seconds(30))
        var changes = DeliveryChanges()
        var held = HeldEvent(logged[0].position, chain: chain.deliveryName)
        held.nextAttempt = StoreSamples.time(9)
        changes.held = [held]
        changes.dead = [
            DeadDelivery(
                position: logged[2].position, eventID: logged[2].event.id, chain: logged[2].event.id, attempts: 9,
                reason: "timeout", time: .now())
        ]
        changes.gapsAdded = [chain.deliveryName]
        try await store.save(changes, of: queue, renewing: .seconds(30))
        await store.release(queue)
    }

    /// All events of the customers' log.
    func events(of stage: NotificationStage) async throws -> [LoggedEvent] {
        let query = EventQuery(partition, after: .start, maximum: 1000)
        return try #require(await stage.eventLog().read([query])?.first).events
    }
}

extension NotificationStage {
    func cache() -> RedisUpstreamCache {
        RedisUpstreamCache(
            store: redis, keys: StoreSamples.keys(), localBytes: 1 << 20, clock: { StoreSamples.time(100) },
            observe: { _ in })
    }

    /// Returns the erasure of everything that is stored here.
    /// - Parameter log: the connection of the log of events.
    func erasure(_ cache: RedisUpstreamCache, log: (any RedisCommands)? = nil) -> Erasure {
        let notifications = store()
        let events = RedisEventLog(
            log ?? redis, keys: StoreSamples.keys(), retention: .test, observe: { _ in })
        // The stores of deferred verifications and of ownership have their place before the cached results.
        return Erasure(
            [notifications, events, deliveries()], purge: CachedResultPurge(cache.purges.purge),
            results: [RedisResultErasure(redis, keys: StoreSamples.keys())],
            indexes: [RedisStateErasure(store: notifications)], states: notifications,
            chains: { (_, _) throws(StoreUnreachable) in [] })
    }
}
