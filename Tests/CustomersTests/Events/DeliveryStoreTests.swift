// SPDX-License-Identifier: Apache-2.0

import Customers
import Testing
import TestSupport

@testable import ServerTestSupport

/// The behaviour of every store of deliveries, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct DeliveryStoreTests {
    typealias Samples = StoredEventSamples

    @Test(.redis, arguments: StoreKind.allCases)
    func `a new endpoint begins at the newest event`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), store = shared.deliveries.0
        let other = DeliveryQueue(endpoint: "shop/crm", partition: Samples.partition, stream: .relay)
        for number in 1...2 { try await shared.append(Samples.event(number)) }
        let newest = try #require(await shared.log.newest([Samples.partition], .events)?.first)
        // Redis begins a queue as well when a node takes it.
        if kind == .embedded { try await store.begin([Samples.queue, other]) }
        #expect(try await store.acquire()?.position == newest)
        await store.release(Samples.queue)
        try await shared.append(Samples.event(3))
        #expect(try await store.acquire()?.position == newest)
        #expect(try await store.acquire(other)?.position == .start)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `more queues than one connection keeps waiting are begun and surveyed`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), store = shared.deliveries.0
        let queues = (1...4200).map { number in
            let partition = AppPartition(bundleID: "com.example.app\(number)", of: "1")
            return DeliveryQueue(endpoint: "shop/crm", partition: partition, stream: .events)
        }
        try await store.begin(queues)
        #expect(try await store.survey(queues).map(\.position) == queues.map { _ in .start })
        #expect(await shared.log.newest(queues.map(\.partition), .events) == queues.map { _ in .start })
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a state is the same on another node`(kind: StoreKind) async throws {
        let (first, second) = SharedCustomers(kind).deliveries
        _ = try await first.acquire()
        var waiting = HeldEvent(Samples.position(3), chain: "chain")
        waiting.attempts = 0
        try await first.save { changes in
            changes.position = Samples.position(4)
            changes.held = [Samples.held(1), Samples.held(2, chain: "other"), waiting]
            changes.gapsAdded = ["chain", "gone"]
            changes.disabledAt = StoreSamples.time(7)
        }
        try await first.save { changes in
            changes.held = [Samples.held(1, attempts: 2)]
            changes.removed = [Samples.position(2)]
            changes.gapsRemoved = ["gone"]
        }
        await first.release(Samples.queue)
        let state = try #require(try await second.acquire())
        #expect(state.position == Samples.position(4))
        // In this process they have no order.
        let held = kind == .redis ? state.held : state.held.sorted { $0.position < $1.position }
        #expect(held == [Samples.held(1, attempts: 2), waiting])
        #expect(state.gaps == ["chain"] && state.disabledAt == StoreSamples.time(7))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `events to which two primaries gave one number are held and given up side by side`(
        kind: StoreKind
    ) async throws {
        let store = SharedCustomers(kind).deliveries.0
        var other = Samples.held(3, chain: "other")
        other.position.milliseconds += 1
        _ = try await store.acquire()
        try await store.save { changes in
            changes.held = [Samples.held(3), other]
            changes.dead = [Samples.dead(5), Samples.dead(5, milliseconds: other.position.milliseconds)]
        }
        try await store.save { $0.removed = [Samples.position(3)] }
        await store.release(Samples.queue)
        #expect(try await store.acquire()?.held == [other])
        #expect(try await store.redeliver(Samples.queue, eventID: nil) == 2)
        #expect(try await store.acquire()?.held.count == 3)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `one node has a queue at a time`(kind: StoreKind) async throws {
        let (first, second) = SharedCustomers(kind).deliveries
        _ = try await first.acquire()
        #expect(try await !Samples.isAcquired(by: second))
        // After a lost reply.
        #expect(try await Samples.isAcquired(by: first))
        await second.release(Samples.queue)
        #expect(try await !Samples.isAcquired(by: second))
        await first.release(Samples.queue)
        #expect(try await Samples.isAcquired(by: second))
        await #expect(throws: DeliveryStoreFault.leaseLost) { try await first.save() }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a node that lost its lease writes nothing`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), (slow, other) = shared.deliveries
        _ = try await slow.acquire()
        try shared.expire(Samples.queue)
        let state = try #require(try await other.acquire())
        let late = Samples.changes { changes in
            changes.position = Samples.position(9)
            (changes.held, changes.dead) = ([Samples.held(9)], [Samples.dead(8)])
            (changes.gapsAdded, changes.disabledAt) = (["chain"], StoreSamples.time(1))
        }
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await slow.save(late, of: Samples.queue, renewing: Samples.lease)
        }
        await slow.release(Samples.queue)
        #expect(try await !Samples.isAcquired(by: slow))
        #expect(try await other.dead(Samples.queue, maximum: 10).isEmpty)
        #expect(try await other.acquire() == state)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a lease that ended is renewed if no other node has taken it`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), (store, other) = shared.deliveries
        _ = try await store.acquire()
        try shared.expire(Samples.queue)
        try await store.save()
        #expect(try await !Samples.isAcquired(by: other))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `queues are independent of each other`(kind: StoreKind) async throws {
        let (store, another) = SharedCustomers(kind).deliveries
        let others = [
            DeliveryQueue(endpoint: "shop/bi", partition: Samples.partition, stream: .events),
            DeliveryQueue(endpoint: "shop/crm", partition: Samples.partition, stream: .relay),
            DeliveryQueue(
                endpoint: "shop/crm", partition: AppPartition(bundleID: "com.example.other", number: 0),
                stream: .events),
        ]
        _ = try await store.acquire()
        try await store.save { $0.held = [Samples.held(1)] }
        for other in others {
            #expect(try await another.acquire(other)?.held.isEmpty == true)
        }
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a rewound queue is enabled, and has no event twice`(kind: StoreKind) async throws {
        let (worker, operators) = SharedCustomers(kind).deliveries
        _ = try await worker.acquire()
        let changes = Samples.changes { changes in
            changes.position = Samples.position(5)
            changes.held = [Samples.held(2), Samples.held(4)]
            changes.disabledAt = StoreSamples.time(1)
        }
        try await worker.save(changes, of: Samples.queue, renewing: Samples.lease)
        try await operators.rewind(Samples.queue, to: Samples.position(3))
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await worker.save(changes, of: Samples.queue, renewing: Samples.lease)
        }
        let state = try #require(try await worker.acquire())
        #expect(state.position == Samples.position(3) && state.disabledAt == nil)
        #expect(state.held == [Samples.held(2)])
        try await operators.rewind(Samples.queue, to: .start)
        #expect(try await worker.acquire()?.held.isEmpty == true)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a disabled endpoint stays so until an operator enables it`(kind: StoreKind) async throws {
        let (worker, operators) = SharedCustomers(kind).deliveries
        _ = try await worker.acquire()
        try await worker.save { $0.disabledAt = StoreSamples.time(1) }
        try await worker.save()
        #expect(try await worker.survey([Samples.queue]).first?.disabledAt == StoreSamples.time(1))
        try await operators.enable(Samples.queue)
        #expect(try await worker.acquire()?.disabledAt == nil)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a survey counts what is not delivered, and its age`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), worker = shared.deliveries.0, log = shared.log
        #expect(try await worker.survey([Samples.queue]) == [DeliverySurvey()])
        try await worker.begin([Samples.queue])
        _ = try await worker.acquire()
        for number in 1...3 { try await shared.append(Samples.event(number)) }
        let unread = try #require(try await worker.survey([Samples.queue]).first)
        #expect(unread.position == .start && unread.unread == 3 && unread.isLeased)
        #expect(unread.lag.map { $0 < .seconds(60) } == true)
        let newest = try #require(await log.newest([Samples.partition], .events)?.first)
        try await worker.save { $0.position = newest }
        let idle = try #require(try await worker.survey([Samples.queue]).first)
        #expect(idle.unread == 0 && idle.lag == nil && idle.position == newest)
        var old = Samples.held(1)
        old.position.milliseconds = newest.milliseconds - 3_600_000
        try await worker.save { ($0.held, $0.dead) = ([old], [Samples.dead(2)]) }
        await worker.release(Samples.queue)
        let behind = try await worker.survey([Samples.queue, Samples.queue])
        #expect(behind.count == 2 && behind[0].held == 1 && behind[0].dead == 1 && !behind[0].isLeased)
        #expect(behind[0].lag.map { $0 >= .seconds(3600) && $0 < .seconds(3660) } == true)
    }
}
