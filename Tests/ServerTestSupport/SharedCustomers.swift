// SPDX-License-Identifier: Apache-2.0

import RealServers
import Receipts
import Redis
import TestSupport

@testable import Customers
@testable import RedisStore

/// The notifications, states, events and deliveries that two nodes share.
struct SharedCustomers {
    let notifications: (any NotificationStore, any NotificationStore)
    let deliveries: (any DeliveryStore, any DeliveryStore)
    let log: any EventLog
    /// Nil if the stores are in this process.
    let redis: NotificationStage?
    private let retention: EventRetention
    private let clock = StandingClock(at: .now())

    init(
        _ kind: StoreKind, maximumBytes: Int = 1 << 20, relays: Bool = false,
        retention: EventRetention = StoredEventSamples.retention
    ) {
        self.retention = retention
        switch kind {
        case .redis:
            let stage = NotificationStage.current
            redis = stage
            notifications = (
                stage.store(maximumBytes: maximumBytes, relays: relays),
                stage.store(maximumBytes: maximumBytes, relays: relays)
            )
            (deliveries, log) = ((stage.deliveries(), stage.deliveries()), stage.eventLog())
        case .embedded:
            redis = nil
            let time: @Sendable () -> Timestamp = { [clock] in clock.time }
            let events = EmbeddedEventLog(retention, clock: time)
            let store = EmbeddedNotificationStore(
                isPermitted: true, maximumBytes: maximumBytes, log: events, rules: .test, relays: { _ in relays },
                clock: time)
            let first = EmbeddedDeliveryStore(log: events, clock: time)
            (notifications, log) = ((store, store), events)
            deliveries = (first, EmbeddedDeliveryStore(sharedWith: first, node: 1))
        }
    }

    /// Writes an event, as a change of a state does.
    func append(_ event: Event, to partition: AppPartition = StoredEventSamples.partition) async throws {
        if let redis {
            try await redis.append(event, to: partition, retention: retention)
        } else {
            (log as? EmbeddedEventLog)?.append(event, to: .events, of: partition)
        }
    }

    /// Writes an event at a time, in milliseconds since 1970, as the event with this number and this counter.
    func append(_ event: Event, number: Int, at milliseconds: Int64, counter: Int = 0) async throws {
        let names = NotificationKeys(StoredEventSamples.partition)
        if let redis {
            let sealed = event.sealed(names, StoreSeal(keys: StoreSamples.keys()))
            let id = RedisWord("\(milliseconds)-\(counter)")
            _ = try await redis.redis.send(
                RedisCommand("XADD", key: names.events, id, "i", RedisWord(number), "e", sealed))
        } else {
            clock.set(Timestamp(millisecondsSince1970: milliseconds))
            try await append(event)
        }
    }

    /// Ends the lease of a queue, as time does.
    func expire(_ queue: DeliveryQueue) throws {
        guard let redis else { return clock.advance(by: .seconds(60)) }
        try redis.server.ask("HSET", DeliveryKeys(queue).queue.text, "until", "1")
    }

    /// Lets a notification that a node took stall, as time does.
    func stall(_ taken: TakenNotification, in partition: AppPartition) throws {
        guard let redis else { return clock.advance(by: .seconds(60)) }
        let stream = NotificationKeys(partition).pending.text
        try redis.server.ask("XCLAIM", stream, "gateway", "gateway", "0", taken.id, "IDLE", "60000", "JUSTID")
    }
}
