// SPDX-License-Identifier: Apache-2.0

import Customers
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The state of deliveries in real Redis servers.
@Suite(.timeLimit(.patient)) struct RedisDeliveryStoreTests {
    typealias Samples = StoredEventSamples
    private var stage: NotificationStage { .current }

    private static let queue = Samples.queue
    private static let lease: Duration = .seconds(30)

    /// A time after which nothing is too old.
    private static let now: UInt64 = 4_000_000_000_000

    private static func position(_ number: UInt64) -> EventPosition {
        EventPosition(milliseconds: now, counter: number, number: number)
    }

    private static func held(_ number: UInt64, chain: String = "chain", attempts: Int = 1) -> HeldEvent {
        var event = HeldEvent(position(number), chain: chain)
        event.attempts = attempts
        event.nextAttempt = StoreSamples.time(Int64(number))
        event.firstAttempt = StoreSamples.time(0)
        return event
    }

    private static func dead(_ number: UInt64, milliseconds: UInt64 = now) -> DeadDelivery {
        DeadDelivery(
            position: EventPosition(milliseconds: milliseconds, counter: number, number: number),
            eventID: Samples.event(Int(number)).id, chain: "chain \(number)", attempts: 10, reason: "timeout",
            time: StoreSamples.time(Int64(number)))
    }

    private static func changes(_ edit: (inout DeliveryChanges) -> Void) -> DeliveryChanges {
        var changes = DeliveryChanges()
        edit(&changes)
        return changes
    }

    private static var keys: DeliveryKeys { DeliveryKeys(queue) }

    /// Tries to acquire the queue.
    private static func isAcquired(by store: RedisDeliveryStore) async throws -> Bool {
        let state = try await store.acquire(queue, for: lease)
        return state != nil
    }

    /// Ends a lease as time does.
    private static func endLease(_ stage: NotificationStage) throws {
        try stage.server.ask("HSET", keys.queue.text, "until", "1")
    }

    // MARK: State

    @Test(.redis) func `a new endpoint begins at the newest event`() async throws {
        let store = stage.deliveries()
        for number in 1...2 { try await stage.append(Samples.event(number)) }
        let newest = try #require(await stage.eventLog().newest([Samples.partition], .events)?.first)
        #expect(try await store.acquire(Self.queue, for: Self.lease)?.position == newest)
        await store.release(Self.queue)
        try await stage.append(Samples.event(3))
        #expect(try await store.acquire(Self.queue, for: Self.lease)?.position == newest)
        let other = DeliveryQueue(endpoint: "shop/crm", partition: Samples.partition, stream: .relay)
        #expect(try await store.acquire(other, for: Self.lease)?.position == .start)
    }

    @Test(.redis) func `a state is the same on another node`() async throws {
        let first = stage.deliveries(), second = stage.deliveries()
        _ = try await first.acquire(Self.queue, for: Self.lease)
        var waiting = HeldEvent(Self.position(3), chain: "chain")
        waiting.attempts = 0
        let all = Self.changes { changes in
            changes.position = Self.position(4)
            changes.held = [Self.held(1), Self.held(2, chain: "other"), waiting]
            changes.gapsAdded = ["chain", "gone"]
            changes.disabledAt = StoreSamples.time(7)
        }
        try await first.save(all, of: Self.queue, renewing: Self.lease)
        let more = Self.changes { changes in
            changes.held = [Self.held(1, attempts: 2)]
            changes.removed = [Self.position(2)]
            changes.gapsRemoved = ["gone"]
        }
        try await first.save(more, of: Self.queue, renewing: Self.lease)
        await first.release(Self.queue)
        let state = try #require(try await second.acquire(Self.queue, for: Self.lease))
        #expect(state.position == Self.position(4))
        #expect(state.held == [Self.held(1, attempts: 2), waiting])
        #expect(state.gaps == ["chain"] && state.disabledAt == StoreSamples.time(7))
    }

    // MARK: Leases

    @Test(.redis) func `one node has a queue at a time`() async throws {
        let first = stage.deliveries(), second = stage.deliveries()
        _ = try await first.acquire(Self.queue, for: Self.lease)
        #expect(try await !Self.isAcquired(by: second))
        // After a lost reply.
        #expect(try await Self.isAcquired(by: first))
        await second.release(Self.queue)
        #expect(try await !Self.isAcquired(by: second))
        await first.release(Self.queue)
        #expect(try await Self.isAcquired(by: second))
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await first.save(DeliveryChanges(), of: Self.queue, renewing: Self.lease)
        }
    }

    @Test(.redis) func `a node that lost its lease writes nothing`() async throws {
        let slow = stage.deliveries(), other = stage.deliveries()
        _ = try await slow.acquire(Self.queue, for: Self.lease)
        try Self.endLease(stage)
        let state = try #require(try await other.acquire(Self.queue, for: Self.lease))
        let late = Self.changes { changes in
            changes.position = Self.position(9)
            (changes.held, changes.dead) = ([Self.held(9)], [Self.dead(8)])
            (changes.gapsAdded, changes.disabledAt) = (["chain"], StoreSamples.time(1))
        }
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await slow.save(late, of: Self.queue, renewing: Self.lease)
        }
        await slow.release(Self.queue)
        #expect(try await !Self.isAcquired(by: slow))
        #expect(try await other.dead(Self.queue, maximum: 10).isEmpty)
        #expect(try await other.acquire(Self.queue, for: Self.lease) == state)
    }

    @Test(.redis) func `a lease that ended is renewed if no other node has taken it`() async throws {
        let store = stage.deliveries(), other = stage.deliveries()
        _ = try await store.acquire(Self.queue, for: Self.lease)
        try Self.endLease(stage)
        try await store.save(DeliveryChanges(), of: Self.queue, renewing: Self.lease)
        #expect(try await !Self.isAcquired(by: other))
    }

    @Test(.redis) func `queues are independent of each other`() async throws {
        let store = stage.deliveries()
        let others = [
            DeliveryQueue(endpoint: "shop/bi", partition: Samples.partition, stream: .events),
            DeliveryQueue(endpoint: "shop/crm", partition: Samples.partition, stream: .relay),
            DeliveryQueue(
                endpoint: "shop/crm", partition: AppPartition(bundleID: "com.example.other", number: 0),
                stream: .events),
        ]
        _ = try await store.acquire(Self.queue, for: Self.lease)
        try await store.save(
            Self.changes { $0.held = [Self.held(1)] }, of: Self.queue, renewing: Self.lease)
        for other in others {
            #expect(try await stage.deliveries().acquire(other, for: Self.lease)?.held.isEmpty == true)
        }
    }

    // MARK: Operators

    @Test(.redis) func `dead deliveries are listed, and delivered again on request`() async throws {
        let worker = stage.deliveries(), operators = stage.deliveries()
        _ = try await worker.acquire(Self.queue, for: Self.lease)
        let changes = Self.changes { $0.dead = (1...4).map { Self.dead($0) } }
        try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        // After a lost reply.
        try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        #expect(try await operators.dead(Self.queue, maximum: 2) == [Self.dead(4), Self.dead(3)])
        #expect(try await operators.dead(Self.queue, maximum: 100).count == 4)
        #expect(try await operators.redeliver(Self.queue, eventID: "evt_other") == 0)
        try await worker.save(DeliveryChanges(), of: Self.queue, renewing: Self.lease)
        #expect(try await operators.redeliver(Self.queue, eventID: Self.dead(2).eventID) == 1)
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await worker.save(DeliveryChanges(), of: Self.queue, renewing: Self.lease)
        }
        let held = try #require(try await worker.acquire(Self.queue, for: Self.lease)?.held)
        #expect(held.map(\.position) == [Self.position(2)] && held[0].chain == "chain 2")
        #expect(held[0].attempts == 0 && held[0].firstAttempt == nil)
        #expect(held[0].nextAttempt.map { $0 <= Self.dead(2).time } == true)
        #expect(try await operators.redeliver(Self.queue, eventID: nil) == 3)
        #expect(try await operators.dead(Self.queue, maximum: 100).isEmpty)
        #expect(try await worker.acquire(Self.queue, for: Self.lease)?.held.count == 4)
    }

    @Test(.redis) func `the dead deliveries of a queue are bounded by number and age`() async throws {
        let store = stage.deliveries(), maximum = UInt64(RedisDeliveryStore.Limits.dead)
        _ = try await store.acquire(Self.queue, for: Self.lease)
        let old = Self.changes { $0.dead = [Self.dead(1, milliseconds: 1)] }
        try await store.save(old, of: Self.queue, renewing: Self.lease)
        #expect(try await store.dead(Self.queue, maximum: 10).isEmpty)
        let many = Self.changes { $0.dead = (1...maximum + 1).map { Self.dead($0) } }
        try await store.save(many, of: Self.queue, renewing: Self.lease)
        let dead = try await store.dead(Self.queue, maximum: 2 * Int(maximum))
        #expect(dead.map(\.position.number) == (2...maximum + 1).reversed())
    }

    @Test(.redis) func `the marked chains of a queue are bounded`() async throws {
        let store = stage.deliveries(), maximum = RedisDeliveryStore.Limits.gaps
        _ = try await store.acquire(Self.queue, for: Self.lease)
        let first = Self.changes { $0.gapsAdded = ["first"] }
        try await store.save(first, of: Self.queue, renewing: Self.lease)
        // Encrypting them takes longer than the millisecond that the times differ by.
        let many = Self.changes { $0.gapsAdded = Set((1...maximum).map { "\($0)" }) }
        try await store.save(many, of: Self.queue, renewing: Self.lease)
        await store.release(Self.queue)
        let gaps = try #require(try await store.acquire(Self.queue, for: Self.lease)?.gaps)
        #expect(gaps.count == maximum * 7 / 8 && !gaps.contains("first"))
    }

    @Test(.redis) func `a rewound queue is enabled, and has no event twice`() async throws {
        let worker = stage.deliveries(), operators = stage.deliveries()
        _ = try await worker.acquire(Self.queue, for: Self.lease)
        let changes = Self.changes { changes in
            changes.position = Self.position(5)
            changes.held = [Self.held(2), Self.held(4)]
            changes.disabledAt = StoreSamples.time(1)
        }
        try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        try await operators.rewind(Self.queue, to: Self.position(3))
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        }
        let state = try #require(try await worker.acquire(Self.queue, for: Self.lease))
        #expect(state.position == Self.position(3) && state.disabledAt == nil)
        #expect(state.held == [Self.held(2)])
        try await operators.rewind(Self.queue, to: .start)
        #expect(try await worker.acquire(Self.queue, for: Self.lease)?.held.isEmpty == true)
    }

    @Test(.redis) func `a disabled endpoint stays so until an operator enables it`() async throws {
        let worker = stage.deliveries()
        _ = try await worker.acquire(Self.queue, for: Self.lease)
        let gone = Self.changes { $0.disabledAt = StoreSamples.time(1) }
        try await worker.save(gone, of: Self.queue, renewing: Self.lease)
        try await worker.save(DeliveryChanges(), of: Self.queue, renewing: Self.lease)
        #expect(await worker.survey([Self.queue])?.first?.disabledAt == StoreSamples.time(1))
        try await stage.deliveries().enable(Self.queue)
        #expect(try await worker.acquire(Self.queue, for: Self.lease)?.disabledAt == nil)
    }

    @Test(.redis) func `a survey counts what is not delivered, and its age`() async throws {
        let worker = stage.deliveries(), log = stage.eventLog()
        #expect(await worker.survey([Self.queue]) == [DeliverySurvey()])
        _ = try await worker.acquire(Self.queue, for: Self.lease)
        for number in 1...3 { try await stage.append(Samples.event(number)) }
        let unread = try #require(await worker.survey([Self.queue])?.first)
        #expect(unread.position == .start && unread.unread == 3 && unread.isLeased)
        #expect(unread.lag.map { $0 < .seconds(60) } == true)
        let newest = try #require(await log.newest([Samples.partition], .events)?.first)
        try await worker.save(
            Self.changes { $0.position = newest }, of: Self.queue, renewing: Self.lease)
        let idle = try #require(await worker.survey([Self.queue])?.first)
        #expect(idle.unread == 0 && idle.lag == nil && idle.position == newest)
        var old = Self.held(1)
        old.position.milliseconds = newest.milliseconds - 3_600_000
        let late = Self.changes { ($0.held, $0.dead) = ([old], [Self.dead(2)]) }
        try await worker.save(late, of: Self.queue, renewing: Self.lease)
        await worker.release(Self.queue)
        let behind = try #require(await worker.survey([Self.queue, Self.queue]))
        #expect(behind.count == 2 && behind[0].held == 1 && behind[0].dead == 1 && !behind[0].isLeased)
        #expect(behind[0].lag.map { $0 >= .seconds(3600) && $0 < .seconds(3660) } == true)
    }

    @Test(.redis) func `events that were removed from the log are not counted as unread`() async throws {
        let store = stage.deliveries(), log = NotificationKeys(Samples.partition).events.text
        _ = try await store.acquire(Self.queue, for: Self.lease)
        for number in 1...5 { try await stage.append(Samples.event(number)) }
        try stage.server.ask("XTRIM", log, "MAXLEN", "2")
        #expect(await store.survey([Self.queue])?.first?.unread == 2)
    }

    @Test(.redis) func `the state of an endpoint that no longer exists is removed`() async throws {
        let store = stage.deliveries()
        let gone = DeliveryQueue(endpoint: "shop/gone", partition: Samples.partition, stream: .events)
        for queue in [gone, Self.queue] {
            _ = try await store.acquire(queue, for: Self.lease)
            let changes = Self.changes { changes in
                (changes.held, changes.dead, changes.gapsAdded) = ([Self.held(1)], [Self.dead(2)], ["chain"])
            }
            try await store.save(changes, of: queue, renewing: Self.lease)
            await store.release(queue)
        }
        #expect(try stage.server.ask("ZADD", Self.keys.queues.text, "1", DeliveryKeys(gone).queue.text) == "0")
        let state = try #require(try await store.acquire(Self.queue, for: Self.lease))
        #expect(state.held.count == 1 && state.gaps == ["chain"])
        let names = try stage.server.ask("KEYS", "*").split(separator: "\n").map(String.init)
        #expect(Set(names) == Set((DeliveryKeys.all(of: Self.keys.queue) + [Self.keys.queues]).map(\.text)))
    }

    // MARK: Encryption, memory, cluster

    @Test(.redis) func `a state survives a change of the cache keys`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        let before = stage.deliveries(keys: first), during = stage.deliveries(keys: "\(second),\(first)")
        let after = stage.deliveries(keys: second)
        _ = try await before.acquire(Self.queue, for: Self.lease)
        let changes = Self.changes { changes in
            changes.position = Self.position(5)
            (changes.held, changes.dead) = ([Self.held(1), Self.held(2)], [Self.dead(3)])
            changes.gapsAdded = ["kept", "ended"]
        }
        try await before.save(changes, of: Self.queue, renewing: Self.lease)
        await before.release(Self.queue)
        let state = try #require(try await during.acquire(Self.queue, for: Self.lease))
        #expect(state.held == [Self.held(1), Self.held(2)] && state.gaps == ["kept", "ended"])
        #expect(try await during.dead(Self.queue, maximum: 10) == [Self.dead(3)])
        let more = Self.changes { ($0.held, $0.gapsRemoved) = ([Self.held(1, attempts: 2)], ["ended"]) }
        try await during.save(more, of: Self.queue, renewing: Self.lease)
        await during.release(Self.queue)
        let last = try #require(try await after.acquire(Self.queue, for: Self.lease))
        // The unreadable one is not lost: the log has the event.
        #expect(last.position == Self.position(5) && last.held.map(\.position) == [1, 2].map(Self.position))
        #expect(last.held[0] == Self.held(1, attempts: 2) && last.held[1].chain != "chain")
        #expect(try await !Self.isAcquired(by: before))
        await after.release(Self.queue)
        #expect(try await before.acquire(Self.queue, for: Self.lease)?.gaps == ["kept"])
    }

    @Test(.redis) func `nothing about a customer is readable, and no key expires`() async throws {
        let store = stage.deliveries()
        try await stage.append(Samples.event(7))
        try await stage.relay(NotificationSamples.record("notification"))
        _ = try await store.acquire(Self.queue, for: Self.lease)
        let changes = Self.changes { changes in
            (changes.held, changes.dead) = ([Self.held(1, chain: "customer")], [Self.dead(2)])
            changes.gapsAdded = ["customer"]
        }
        try await store.save(changes, of: Self.queue, renewing: Self.lease)
        let secrets = ["customer", "evt_", "chain", "timeout", "renewed", "shop", Samples.bundleID]
        #expect(try await stage.expectNothingReadable(of: secrets).count == 8)
    }

    @Test(.redis("--maxmemory-policy", "noeviction"))
    func `a full Redis still saves what was delivered`() async throws {
        let store = stage.deliveries()
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(try await Self.isAcquired(by: store))
        let changes = Self.changes { changes in
            changes.position = Self.position(2)
            (changes.held, changes.gapsAdded) = ([Self.held(1)], ["chain"])
        }
        try await store.save(changes, of: Self.queue, renewing: Self.lease)
        #expect(try await store.acquire(Self.queue, for: Self.lease)?.held == [Self.held(1)])
    }

    @Test func `all keys of a queue are on one node of a cluster`() async throws {
        let cluster = try await RedisCluster()
        try await NotificationStage.with(cluster.masters[0], url: "redis+cluster://\(cluster.hosts)") { stage in
            let store = stage.deliveries(), log = stage.eventLog()
            let partitions = AppPartition.all(of: Samples.bundleID)
            let queues = partitions.map { DeliveryQueue(endpoint: "shop/crm", partition: $0, stream: .events) }
            for queue in queues {
                _ = try await store.acquire(queue, for: Self.lease)
                try await stage.append(Samples.event(1), to: queue.partition)
                let changes = Self.changes { changes in
                    (changes.held, changes.dead) = ([Self.held(1)], [Self.dead(2)])
                    changes.gapsAdded = ["chain"]
                }
                try await store.save(changes, of: queue, renewing: Self.lease)
                #expect(try await store.redeliver(queue, eventID: nil) == 1)
                try await store.rewind(queue, to: .start)
                try await store.enable(queue)
            }
            #expect(await store.survey(queues)?.map(\.unread) == queues.map { _ in 1 })
            let batches = await log.read(partitions.map { EventQuery($0, after: .start, maximum: 10) })
            #expect(batches?.map(\.events.count) == queues.map { _ in 1 })
        }
    }

    @Test(.redis) func `after the scripts are flushed everything works as before`() async throws {
        let store = stage.deliveries()
        for step in 1...2 {
            try stage.server.ask("SCRIPT", "FLUSH")
            _ = try await store.acquire(Self.queue, for: Self.lease)
            try stage.server.ask("SCRIPT", "FLUSH")
            #expect(await store.survey([Self.queue, Self.queue])?.count == 2, "step \(step)")
            #expect(await stage.eventLog().read([EventQuery(Samples.partition, after: .start, maximum: 1)]) != nil)
        }
    }
}
