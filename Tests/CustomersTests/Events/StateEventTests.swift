// SPDX-License-Identifier: Apache-2.0

import Gateway
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import Customers
@testable import RedisStore
@testable import ServerTestSupport

/// The events that a store writes together with the states that make them.
@Suite(.timeLimit(.patient)) struct StateEventTests {
    typealias Samples = NotificationSamples
    private var stage: NotificationStage { .current }

    private static let now = Timestamp.now()

    /// Returns a period of a month that began when it was signed.
    private static func period(
        _ id: String, signed age: Duration = .seconds(3600), ends end: Duration = .seconds(30 * 86_400),
        revoked: Bool = false
    ) -> Transaction {
        var transaction = Transaction(productID: "monthly", transactionID: id)
        transaction.originalTransactionID = "2000"
        let date = now.advanced(by: .zero - age)
        (transaction.purchaseDate, transaction.expiresDate) = (date, now.advanced(by: end))
        transaction.ownership = .purchased
        transaction.cancellationDate = revoked ? date : nil
        var fields = SignedTransactionFields()
        (fields.signedDate, fields.transactionReason) = (date, "RENEWAL")
        transaction.signedFields = .value(fields)
        return transaction
    }

    private static func update(
        _ transaction: Transaction, _ type: String = "DID_RENEW", of chain: PurchaseChain = Samples.chain
    ) -> CustomerStateUpdate {
        var cause = EventCause(source: .notification, signedDate: transaction.signedDate ?? now)
        (cause.notificationUUID, cause.notificationType) = ("uuid of \(transaction.transactionID)", type)
        cause.transaction = transaction
        return CustomerStateUpdate(chain: chain, items: [.transaction(transaction)], cause: cause)
    }

    private static func logged(_ stage: NotificationStage, keys: String = StoreSamples.firstKey) async throws -> [Event]
    {
        try await logged(in: stage.eventLog(keys: keys))
    }

    private static func logged(in log: any EventLog) async throws -> [Event] {
        let query = EventQuery(Samples.partition, after: .start, maximum: 1000)
        return try #require(await log.read([query])?.first).events.map(\.event)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a change and its event are written together, once`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), (store, other) = shared.notifications
        let update = Self.update(Self.period("2001"))
        let outcome = try #require(await store.merge([update]).first).get()
        #expect(outcome.changed && outcome.events.map(\.type) == [.subscriptionRenewed])
        #expect(try await Self.logged(in: shared.log) == outcome.events)
        let again = try #require(await other.merge([update]).first).get()
        #expect(again == MergeOutcome(changed: false, events: []))
        #expect(try await Self.logged(in: shared.log).count == 1)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `updates of one chain in one call follow each other`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind)
        let updates = [
            Self.update(Self.period("2001", signed: .seconds(300))),
            Self.update(Self.period("2001", signed: .seconds(200), revoked: true), "REFUND"),
            Self.update(Self.period("2001", signed: .seconds(300))),
        ]
        let outcomes = try await shared.notifications.0.merge(updates).map { try $0.get() }
        #expect(
            outcomes.map { $0.events.map(\.type) } == [[.subscriptionRenewed], [.subscriptionRefunded], []])
        #expect(try await Self.logged(in: shared.log).map(\.type) == [.subscriptionRenewed, .subscriptionRefunded])
    }

    @Test(.redis)
    func `nodes that merge into one chain at the same time lose nothing and repeat nothing`() async throws {
        let updates = (0..<12).map { Self.update(Self.period("\(3000 + $0)", signed: .seconds(60 * ($0 + 1)))) }
        let results = await withTaskGroup { group in
            for update in updates + updates {
                group.addTask { await stage.store().merge([update]) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        // One that lost every race is taken again, like any notification that is not applied.
        let written = results.flatMap { (try? $0.get())?.events ?? [] }
        for case .failure in results { _ = await stage.store().merge(updates) }
        let events = try await Self.logged(stage)
        #expect(events.count == 12 && Set(events.map(\.id)).count == 12 && written.count <= 12)
        #expect(await stage.store().states(of: [Samples.chain])?.first?.transactions.count == 12)
    }

    @Test(.redis) func `records that no key opens any more do not delay the events of others`() async throws {
        let chains = (1...).lazy.map { number in
            PurchaseChain(
                bundleID: Samples.bundleID, environment: .sandbox, originalTransactionID: "30000\(number)")
        }.filter { $0.partition == Samples.partition }.prefix(150)
        let lost = chains.map { chain in
            var period = Self.period("2000", signed: .seconds(86_400), ends: .seconds(-5000))
            period.originalTransactionID = chain.originalTransactionID
            return Self.update(period, of: chain)
        }
        _ = await stage.store(keys: StoreSamples.secondKey).merge(lost)
        let store = stage.store(), period = Self.period("2001", signed: .seconds(86_400), ends: .seconds(-4000))
        _ = await store.merge([Self.update(period)])
        let due = NotificationKeys(Samples.partition).due.text
        #expect(try stage.server.ask("ZCARD", due) == "151")
        #expect(await store.due(in: Samples.partition) == [Samples.chain])
        func count(dueIn seconds: ClosedRange<Int64>) throws -> String {
            let ends = [seconds.lowerBound, seconds.upperBound].map {
                "\(Self.now.advanced(by: .seconds($0)).millisecondsSince1970)"
            }
            return try stage.server.ask("ZCOUNT", due, ends[0], ends[1])
        }
        #expect(try count(dueIn: 0...300) == "1" && count(dueIn: 301...3600) == "150")
        // What another node has scheduled meanwhile stays.
        let key = NotificationKeys(Samples.partition).due, member = "a record"
        try stage.server.ask("ZADD", due, "7", member)
        for time in ["6", "7"] {
            _ = try await stage.redis.run(NotificationScripts.reschedule, keys: [key], time, "", member)
            #expect(try stage.server.ask("ZCARD", due) == (time == "6" ? "152" : "151"))
        }
    }

    @Test(.redis) func `dates alone make an event, once`() async throws {
        let store = stage.store(), period = Self.period("2001", signed: .seconds(86_400), ends: .seconds(-4000))
        _ = await store.merge([Self.update(period)])
        // The period and the delay are over, by the clock of Redis. But no node was there until now: a notification
        // that was missed may say more.
        #expect(await store.survey(Samples.partition)?.hasDueEvents == false)
        let totals = NotificationKeys(Samples.partition).totals.text
        try stage.server.ask("HSET", totals, "resumed", "1")
        #expect(await store.survey(Samples.partition)?.hasDueEvents == true)
        // Also with a full memory.
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(await store.due(in: Samples.partition) == [Samples.chain])
        // It is not due again at once for another node.
        #expect(await stage.store().due(in: Samples.partition).isEmpty)
        let cause = EventCause(source: .schedule, signedDate: Self.now)
        let update = CustomerStateUpdate(chain: Samples.chain, items: [], cause: cause)
        let outcome = try #require(await store.merge([update]).first).get()
        #expect(outcome.events.map(\.type) == [.subscriptionExpired])
        #expect(outcome.events.first?.occurredAt == period.expiresDate)
        let again = try #require(await store.merge([update]).first).get()
        #expect(again.events.isEmpty)
        #expect(await store.survey(Samples.partition)?.hasDueEvents == false)
        #expect(try await Self.logged(stage).map(\.type) == [.subscriptionRenewed, .subscriptionExpired])
    }

    @Test(.redis, arguments: [(30, true), (61, false)])
    func `dates make no event after a minute without a survey`(seconds: Int64, makesEvent: Bool) async throws {
        let store = stage.store(), totals = NotificationKeys(Samples.partition).totals.text
        _ = await store.merge([Self.update(Self.period("2001", signed: .seconds(86_400), ends: .seconds(-4000)))])
        let surveyed = Timestamp.now().advanced(by: .seconds(-seconds)).millisecondsSince1970
        try stage.server.ask("HSET", totals, "resumed", "1", "surveyed", "\(surveyed)")
        #expect(await store.survey(Samples.partition)?.hasDueEvents == makesEvent)
    }

    @Test(.redis) func `a period that ended long ago makes no event by its dates`() async throws {
        let old = Self.period("2001", signed: .seconds(40 * 86_400), ends: .seconds(-10 * 86_400))
        _ = await stage.store().merge([Self.update(old)])
        let due = NotificationKeys(Samples.partition).due.text
        let exists = try stage.server.ask("EXISTS", due)
        #expect(exists == "0")
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a chain that Apple renames back has events again`(kind: StoreKind) async throws {
        func update(_ id: String, named name: String, of chain: String, at age: Int) -> CustomerStateUpdate {
            var period = Self.period(id, signed: .seconds(age))
            period.originalTransactionID = name
            var update = Self.update(period)
            update.chain = PurchaseChain(
                bundleID: Samples.bundleID, environment: .sandbox, originalTransactionID: chain)
            return update
        }
        let store = SharedCustomers(kind).notifications.0
        for (update, count) in [
            (update("2001", named: "2000", of: "2000", at: 300), 1),
            // The state is kept under both names, and its event names the new one.
            (update("2002", named: "3000", of: "2000", at: 200), 0),
            (update("2002", named: "3000", of: "3000", at: 200), 1),
            (update("2003", named: "2000", of: "2000", at: 100), 1),
        ] {
            let outcome = try #require(await store.merge([update]).first).get()
            #expect(outcome.events.count == count)
        }
    }

    @Test(.redis) func `a record of another type stops its own chain only`() async throws {
        let store = stage.store(), name = EntryNames(StoreSamples.keys()).states(of: Samples.chain)[0]
        try stage.server.ask("SET", NotificationKeys(Samples.partition).state(name), "junk")
        var other = Self.update(Self.period("2002"))
        // In the same partition.
        let id = (0..<1000).map { "\(9000 + $0)" }.first {
            AppPartition(bundleID: Samples.bundleID, of: $0) == Samples.partition
        }
        other.chain = PurchaseChain(bundleID: Samples.bundleID, environment: .sandbox, originalTransactionID: id ?? "")
        let results = await store.merge([Self.update(Self.period("2001")), other])
        #expect(results.map { (try? $0.get())?.changed } == [nil, true])
    }

    @Test(.redis) func `a date that became history is due no longer`() async throws {
        let period = Self.period("2001", signed: .seconds(86_400), ends: .seconds(-4000))
        _ = await stage.store().merge([Self.update(period)])
        let cause = EventCause(source: .schedule, signedDate: Self.now)
        let update = CustomerStateUpdate(chain: Samples.chain, items: [], cause: cause)
        // The gateway was off for two weeks.
        let late = stage.store { Self.now.advanced(by: .seconds(14 * 86_400)) }
        let outcome = try #require(await late.merge([update]).first).get()
        let due = NotificationKeys(Samples.partition).due.text
        let exists = try stage.server.ask("EXISTS", due)
        #expect(outcome.events.isEmpty && exists == "0")
    }

    @Test(.redis) func `the schedule forgets a chain whose record is gone`() async throws {
        let due = NotificationKeys(Samples.partition).due.text
        try stage.server.ask("ZADD", due, "1", NotificationKeys(Samples.partition).state("lost"))
        #expect(await stage.store().due(in: Samples.partition).isEmpty)
        #expect(try stage.server.ask("EXISTS", due) == "0")
    }

    @Test(.redis) func `without a notification there is no record to compare with`() async throws {
        var update = Self.update(Self.period("2001"))
        update.cause = EventCause(source: .verification, signedDate: Self.now)
        #expect(await stage.store().merge([update]) == [.success(MergeOutcome(changed: false, events: []))])
        let count = try stage.server.ask("DBSIZE")
        #expect(count == "0")
    }

    @Test(.redis) func `the events of a chain are known after a change of the cache keys`() async throws {
        let first = StoreSamples.firstKey, both = "\(StoreSamples.secondKey),\(first)"
        let update = Self.update(Self.period("2001"))
        _ = await stage.store(keys: first).merge([update])
        let outcome = try #require(await stage.store(keys: both).merge([update]).first).get()
        #expect(outcome.events.isEmpty)
        // The record is under the second key from now on.
        let after = try #require(await stage.store(keys: StoreSamples.secondKey).merge([update]).first).get()
        #expect(after == MergeOutcome(changed: false, events: []))
        #expect(try await Self.logged(stage, keys: both).count == 1)
    }

    @Test(.redis) func `a record with foreign values is merged all the same`() async throws {
        let store = stage.store()
        _ = await store.merge([Self.update(Self.period("2001"))])
        let name = EntryNames(StoreSamples.keys()).states(of: Samples.chain)[0]
        let key = NotificationKeys(Samples.partition).state(name)
        try stage.server.ask("HSET", key, "x", "short", "y", String(repeating: "y", count: 100))
        let outcome = try #require(await store.merge([Self.update(Self.period("2002"))]).first).get()
        #expect(outcome.events.count == 1)
    }

    @Test(.redis("--maxmemory-policy", "noeviction"))
    func `a full Redis still takes the change and its event`() async throws {
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        let outcome = try #require(await stage.store().merge([Self.update(Self.period("2001"))]).first).get()
        #expect(outcome.events.count == 1)
        #expect(try await Self.logged(stage).count == 1)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `the event of a notification about no purchase is written as the notification is removed, once`(
        kind: StoreKind
    ) async throws {
        let shared = SharedCustomers(kind), store = shared.notifications.0, partition = Samples.partition
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        let taken = await store.take(from: partition, includingStalled: false)
        let event = StoredEventSamples.event(1)
        for _ in 1...2 {
            await store.finish(taken.map { FinishedNotification(taken: $0, event: event) }, in: partition)
        }
        #expect(try await Self.logged(in: shared.log) == [event])
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a notification is relayed as it was posted, and its repetition is not`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind, relays: true), store = shared.notifications.0,
            record = Samples.record(#"{ "signedPayload": "a.b.c" }"#)
        for _ in 1...2 { _ = try await store.store(record, Samples.identity(1), in: Samples.partition) }
        let query = EventQuery(Samples.partition, .relay, after: .start, maximum: 10)
        let batch = try #require(await shared.log.read([query])?.first)
        #expect(batch.events.map(\.event.json) == [record.bytes])
    }
}
