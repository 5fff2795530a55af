// SPDX-License-Identifier: Apache-2.0

import Customers
import RealServers
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The state of deliveries in real Redis servers: what only they have.
@Suite(.timeLimit(.patient)) struct RedisDeliveryStoreTests {
    typealias Samples = StoredEventSamples
    private var stage: NotificationStage { .current }

    private static let queue = Samples.queue
    private static let lease = Samples.lease
    private static var keys: DeliveryKeys { DeliveryKeys(queue) }

    // MARK: Operators

    @Test(.redis) func `dead deliveries are listed, and delivered again on request`() async throws {
        let worker = stage.deliveries(), operators = stage.deliveries()
        _ = try await worker.acquire()
        let changes = Samples.changes { $0.dead = (1...4).map { Samples.dead($0) } }
        try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        // After a lost reply.
        try await worker.save(changes, of: Self.queue, renewing: Self.lease)
        #expect(try await operators.dead(Self.queue, maximum: 2) == [Samples.dead(4), Samples.dead(3)])
        #expect(try await operators.dead(Self.queue, maximum: 100).count == 4)
        #expect(try await operators.redeliver(Self.queue, eventID: "evt_other") == 0)
        try await worker.save()
        #expect(try await operators.redeliver(Self.queue, eventID: Samples.dead(2).eventID) == 1)
        await #expect(throws: DeliveryStoreFault.leaseLost) { try await worker.save() }
        let held = try #require(try await worker.acquire()?.held)
        #expect(held.map(\.position) == [Samples.position(2)] && held[0].chain == "chain 2")
        #expect(held[0].attempts == 0 && held[0].firstAttempt == nil)
        #expect(held[0].nextAttempt.map { $0 <= Samples.dead(2).time } == true)
        #expect(try await operators.redeliver(Self.queue, eventID: nil) == 3)
        #expect(try await operators.dead(Self.queue, maximum: 100).isEmpty)
        #expect(try await worker.acquire()?.held.count == 4)
    }

    @Test(.redis) func `the dead deliveries of a queue are bounded by number and age`() async throws {
        let store = stage.deliveries(), maximum = UInt64(RedisDeliveryStore.Limits.dead)
        _ = try await store.acquire()
        try await store.save { $0.dead = [Samples.dead(1, milliseconds: 1)] }
        #expect(try await store.dead(Self.queue, maximum: 10).isEmpty)
        try await store.save { $0.dead = (1...maximum + 1).map { Samples.dead($0) } }
        let dead = try await store.dead(Self.queue, maximum: 2 * Int(maximum))
        #expect(dead.map(\.position.number) == (2...maximum + 1).reversed())
    }

    @Test(.redis) func `the marked chains of a queue are bounded`() async throws {
        let store = stage.deliveries(), maximum = RedisDeliveryStore.Limits.gaps
        _ = try await store.acquire()
        try await store.save { $0.gapsAdded = ["first"] }
        // Encrypting them takes longer than the millisecond that the times differ by.
        try await store.save { $0.gapsAdded = Set((1...maximum).map { "\($0)" }) }
        await store.release(Self.queue)
        let gaps = try #require(try await store.acquire()?.gaps)
        #expect(gaps.count == maximum * 7 / 8 && !gaps.contains("first"))
    }

    @Test(.redis) func `events that were removed from the log are not counted as unread`() async throws {
        let store = stage.deliveries(), log = NotificationKeys(Samples.partition).events.text
        _ = try await store.acquire()
        for number in 1...5 { try await stage.append(Samples.event(number)) }
        try stage.server.ask("XTRIM", log, "MAXLEN", "2")
        #expect(try await store.survey([Self.queue]).first?.unread == 2)
    }

    @Test(.redis) func `the state of an endpoint that no longer exists is removed`() async throws {
        let store = stage.deliveries()
        let gone = DeliveryQueue(endpoint: "shop/gone", partition: Samples.partition, stream: .events)
        for queue in [gone, Self.queue] {
            _ = try await store.acquire(queue)
            try await store.save(queue) { changes in
                (changes.held, changes.dead, changes.gapsAdded) = ([Samples.held(1)], [Samples.dead(2)], ["chain"])
            }
            await store.release(queue)
        }
        #expect(try stage.server.ask("ZADD", Self.keys.queues.text, "1", DeliveryKeys(gone).queue.text) == "0")
        let state = try #require(try await store.acquire())
        #expect(state.held.count == 1 && state.gaps == ["chain"])
        let names = try stage.server.ask("KEYS", "*").split(separator: "\n").map(String.init)
        #expect(Set(names) == Set((DeliveryKeys.all(of: Self.keys.queue) + [Self.keys.queues]).map(\.text)))
    }

    // MARK: Encryption, memory, cluster

    @Test(.redis) func `a state survives a change of the cache keys`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        let before = stage.deliveries(keys: first), during = stage.deliveries(keys: "\(second),\(first)")
        let after = stage.deliveries(keys: second)
        _ = try await before.acquire()
        try await before.save { changes in
            changes.position = Samples.position(5)
            (changes.held, changes.dead) = ([Samples.held(1), Samples.held(2)], [Samples.dead(3)])
            changes.gapsAdded = ["kept", "ended"]
        }
        await before.release(Self.queue)
        let state = try #require(try await during.acquire())
        #expect(state.held == [Samples.held(1), Samples.held(2)] && state.gaps == ["kept", "ended"])
        #expect(try await during.dead(Self.queue, maximum: 10) == [Samples.dead(3)])
        try await during.save { ($0.held, $0.gapsRemoved) = ([Samples.held(1, attempts: 2)], ["ended"]) }
        await during.release(Self.queue)
        let last = try #require(try await after.acquire())
        // The unreadable one is not lost: the log has the event.
        #expect(last.position == Samples.position(5) && last.held.map(\.position) == [1, 2].map(Samples.position))
        #expect(last.held[0] == Samples.held(1, attempts: 2) && last.held[1].chain != "chain")
        #expect(try await !Samples.isAcquired(by: before))
        await after.release(Self.queue)
        #expect(try await before.acquire()?.gaps == ["kept"])
    }

    @Test(.redis) func `nothing about a customer is readable, and no key expires`() async throws {
        let store = stage.deliveries()
        try await stage.append(Samples.event(7))
        try await stage.relay(NotificationSamples.record("notification"))
        _ = try await store.acquire()
        try await store.save { changes in
            (changes.held, changes.dead) = ([Samples.held(1, chain: "customer")], [Samples.dead(2)])
            changes.gapsAdded = ["customer"]
        }
        let secrets = ["customer", "evt_", "chain", "timeout", "renewed", "shop", Samples.bundleID]
        #expect(try await stage.expectNothingReadable(of: secrets).count == 8)
    }

    @Test(.redis("--maxmemory-policy", "noeviction"))
    func `a full Redis still saves what was delivered`() async throws {
        let store = stage.deliveries()
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(try await Samples.isAcquired(by: store))
        try await store.save { changes in
            changes.position = Samples.position(2)
            (changes.held, changes.gapsAdded) = ([Samples.held(1)], ["chain"])
        }
        #expect(try await store.acquire()?.held == [Samples.held(1)])
    }

    @Test func `all keys of a queue are on one node of a cluster`() async throws {
        let cluster = try await RedisCluster()
        try await NotificationStage.with(cluster.masters[0], url: "redis+cluster://\(cluster.hosts)") { stage in
            let store = stage.deliveries(), log = stage.eventLog()
            let partitions = AppPartition.all(of: Samples.bundleID)
            let queues = partitions.map { DeliveryQueue(endpoint: "shop/crm", partition: $0, stream: .events) }
            for queue in queues {
                _ = try await store.acquire(queue)
                try await stage.append(Samples.event(1), to: queue.partition)
                try await store.save(queue) { changes in
                    (changes.held, changes.dead) = ([Samples.held(1)], [Samples.dead(2)])
                    changes.gapsAdded = ["chain"]
                }
                #expect(try await store.redeliver(queue, eventID: nil) == 1)
                try await store.rewind(queue, to: .start)
                try await store.enable(queue)
            }
            #expect(try await store.survey(queues).map(\.unread) == queues.map { _ in 1 })
            let batches = await log.read(partitions.map { EventQuery($0, after: .start, maximum: 10) })
            #expect(batches?.map(\.events.count) == queues.map { _ in 1 })
        }
    }

    @Test(.redis) func `after the scripts are flushed everything works as before`() async throws {
        let store = stage.deliveries()
        for step in 1...2 {
            try stage.server.ask("SCRIPT", "FLUSH")
            _ = try await store.acquire()
            try stage.server.ask("SCRIPT", "FLUSH")
            #expect(try await store.survey([Self.queue, Self.queue]).count == 2, "step \(step)")
            #expect(await stage.eventLog().read([EventQuery(Samples.partition, after: .start, maximum: 1)]) != nil)
        }
    }
}
