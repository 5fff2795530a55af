// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Redis

@testable import RedisStore

/// Events for the log in Redis.
enum StoredEventSamples {
    static let partition = NotificationSamples.partition
    static let bundleID = NotificationSamples.bundleID
    static let queue = DeliveryQueue(endpoint: "shop/crm", partition: partition, stream: .events)
    static let retention = EventRetention(maximumCount: 100_000, maximumAge: .seconds(7 * 86_400))

    static func event(_ number: Int, padding: Int = 0) -> Event {
        Event(
            id: Event.id("renewed", bundleID: bundleID, .sandbox, cause: ["\(number)"]),
            type: .subscriptionRenewed, bundleID: bundleID, environment: .sandbox,
            originalTransactionID: "2000", occurredAt: StoreSamples.time(Int64(number)),
            json: Array(#"{"number":\#(number),"padding":"\#(String(repeating: "x", count: padding))"}"#.utf8),
            signedData: Array(#"{"signed_transaction":"a.b.c"}"#.utf8))
    }
}

extension StoredEventSamples {
    static let lease: Duration = .seconds(30)
    /// A time after which nothing is too old.
    private static let now: UInt64 = 4_000_000_000_000

    /// Tries to acquire the queue.
    static func isAcquired(by store: some DeliveryStore) async throws -> Bool {
        try await store.acquire(queue, for: lease) != nil
    }

    static func position(_ number: UInt64) -> EventPosition {
        EventPosition(milliseconds: now, counter: number, number: number)
    }

    static func held(_ number: UInt64, chain: String = "chain", attempts: Int = 1) -> HeldEvent {
        var event = HeldEvent(position(number), chain: chain)
        event.attempts = attempts
        event.nextAttempt = StoreSamples.time(Int64(number))
        event.firstAttempt = StoreSamples.time(0)
        return event
    }

    static func dead(_ number: UInt64, milliseconds: UInt64? = nil) -> DeadDelivery {
        DeadDelivery(
            position: EventPosition(milliseconds: milliseconds ?? now, counter: number, number: number),
            eventID: event(Int(number)).id, chain: "chain \(number)", attempts: 10, reason: "timeout",
            time: StoreSamples.time(Int64(number)))
    }

    static func changes(_ edit: (inout DeliveryChanges) -> Void) -> DeliveryChanges {
        var changes = DeliveryChanges()
        edit(&changes)
        return changes
    }
}

extension DeliveryStore {
    /// Takes a queue for the lease of the samples.
    func acquire(_ queue: DeliveryQueue = StoredEventSamples.queue) async throws -> DeliveryState? {
        try await acquire(queue, for: StoredEventSamples.lease)
    }

    /// Saves changes of a queue; without changes it renews the lease only.
    func save(
        _ queue: DeliveryQueue = StoredEventSamples.queue, _ edit: (inout DeliveryChanges) -> Void = { _ in }
    ) async throws {
        try await save(StoredEventSamples.changes(edit), of: queue, renewing: StoredEventSamples.lease)
    }
}

extension NotificationStage {
    private static let append = RedisScript(
        EventScripts.append + "appendEvent(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]) return 1")
    private static let relay = RedisScript(
        EventScripts.append + "appendRelayed(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]) return 1")

    func eventLog(
        keys: String = StoreSamples.firstKey, observe: @escaping @Sendable (SharedCacheFault) -> Void = { _ in }
    ) -> RedisEventLog {
        RedisEventLog(
            redis, keys: StoreSamples.keys(keys),
            retention: EventRetention(maximumCount: 100_000, maximumAge: .seconds(86_400)), observe: observe)
    }

    func deliveries(keys: String = StoreSamples.firstKey) -> RedisDeliveryStore {
        RedisDeliveryStore(redis, keys: StoreSamples.keys(keys))
    }

    /// Writes an event as the scripts do that find changes.
    func append(
        _ event: Event, to partition: AppPartition = StoredEventSamples.partition,
        keys: String = StoreSamples.firstKey, retention: EventRetention = StoredEventSamples.retention
    ) async throws {
        let names = NotificationKeys(partition), seal = StoreSeal(keys: StoreSamples.keys(keys))
        _ = try await redis.run(
            Self.append, keys: [names.totals, names.events], event.sealed(names, seal), retention)
    }

    /// Writes a notification to the relay.
    func relay(
        _ record: NotificationRecord, of partition: AppPartition = StoredEventSamples.partition,
        retention: EventRetention = StoredEventSamples.retention
    ) async throws {
        let names = NotificationKeys(partition), seal = StoreSeal(keys: StoreSamples.keys())
        let sealed = RedisWord(seal.seal(record.storedBytes, for: names.sealedName))
        _ = try await redis.run(
            Self.relay, keys: [names.totals, names.relay], sealed, retention.relayWords)
    }
}

extension RedisWord {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
