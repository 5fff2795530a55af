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

/// Notifications and customer states in real Redis servers: what only they have.
@Suite(.timeLimit(.patient)) struct RedisNotificationsTests {
    typealias Samples = NotificationSamples
    private var stage: NotificationStage { .current }

    // MARK: Queue

    @Test(.redis) func `one take is bounded in bytes`() async throws {
        let store = stage.store(maximumBytes: 64 << 20), partition = Samples.partition
        let record = Samples.record(String(repeating: "x", count: 600_000))
        for number in 1...5 { _ = try await store.store(record, Samples.identity(number), in: partition) }
        var counts: [Int] = []
        while case let taken = await store.take(from: partition, includingStalled: false), !taken.isEmpty {
            counts.append(taken.count)
        }
        #expect(counts == [2, 2, 1])
    }

    @Test(.redis) func `an entry that is none becomes a dead letter, and stops nothing`() async throws {
        let store = stage.store(), partition = Samples.partition
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        let stream = NotificationKeys(partition).pending.text
        try stage.server.ask("XADD", stream, "*", "n", "garbage")
        let taken = await store.take(from: partition, includingStalled: false)
        #expect(taken.count == 2)
        guard case .failure(.unreadable) = taken[1].record else {
            Issue.record("the entry was read")
            return
        }
        await store.discard(taken[1], .unreadable, in: partition)
        await store.finish([taken[0]], in: partition)
        let survey = try #require(await store.survey(partition))
        #expect(survey.entries == 0 && survey.deadLetters == 1)
    }

    @Test(.redis) func `dead letters are listed, the newest first, whether they can be read or not`() async throws {
        let store = stage.store(), partition = Samples.partition
        #expect(try await store.dead(in: partition, maximum: 10).isEmpty)
        _ = try await store.store(Samples.record("one"), Samples.identity(1), in: partition)
        let stream = NotificationKeys(partition).pending.text
        try stage.server.ask("XADD", stream, "*", "n", "garbage")
        let taken = await store.take(from: partition, includingStalled: false)
        await store.discard(taken[0], .notGenuine, in: partition)
        await store.discard(taken[1], .unreadable, in: partition)
        let dead = try await store.dead(in: partition, maximum: 10)
        #expect(dead.map(\.reason) == ["unreadable", "not_genuine"])
        #expect(dead.map(\.record) == [nil, Samples.record("one")] && dead[0].storedBytes == "garbage".utf8.count)
        #expect(dead.allSatisfy { $0.bundleID == partition.bundleID } && dead[0].time >= dead[1].time)
        #expect(try await store.dead(in: partition, maximum: 1).map(\.reason) == ["unreadable"])
    }

    @Test(.redis) func `dead letters that one reply cannot hold are listed`() async throws {
        let store = stage.store(maximumBytes: 64 << 20), partition = Samples.partition
        for number in 1...3 {
            let text = String(repeating: "\(number)", count: 3 << 20)
            _ = try await store.store(Samples.record(text), Samples.identity(number), in: partition)
            let taken = try #require(await store.take(from: partition, includingStalled: false).first)
            await store.discard(taken, .notGenuine, in: partition)
        }
        let dead = try await store.dead(in: partition, maximum: 10)
        #expect(dead.compactMap { $0.record?.bytes.first } == Array("321".utf8))
        #expect(try await store.dead(in: partition, maximum: 2).count == 2)
    }

    @Test(.redis) func `a restored stream without its group is read from its beginning`() async throws {
        let store = stage.store(), partition = Samples.partition
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        let stream = NotificationKeys(partition).pending.text
        try stage.server.ask("XGROUP", "DESTROY", stream, "gateway")
        #expect(await store.take(from: partition, includingStalled: true).count == 1)
    }

    @Test(.redis) func `a Redis that lost notifications is noticed`() async throws {
        let store = stage.store(), partition = Samples.partition
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        #expect(await store.survey(partition)?.lostSince == nil)
        try stage.server.ask("FLUSHALL")
        #expect(await store.survey(partition)?.lostSince != nil)
        #expect(await store.survey(partition)?.lostSince == nil)
    }

    @Test(.redis) func `a loss is noticed behind a newer notification, by each node that knew of it`() async throws {
        let store = stage.store(), other = stage.store(), partition = Samples.partition
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        _ = await other.survey(partition)
        // A replica was promoted that had not received it.
        for key in [NotificationKeys(partition).pending, NotificationKeys(partition).seen] {
            _ = try await stage.redis.send(RedisCommand("DEL", key: key))
        }
        _ = try await store.store(Samples.record(), Samples.identity(2), in: partition)
        #expect(await other.survey(partition)?.lostSince != nil)
        #expect(await other.survey(partition)?.lostSince == nil)
    }

    @Test(.redis) func `a lease ends only for its owner`() async throws {
        let store = stage.store(), other = stage.store()
        #expect(await store.begin(Samples.bundleID, .sandbox, lease: .seconds(600)))
        #expect(await !other.begin(Samples.bundleID, .sandbox, lease: .seconds(600)))
        await other.end(Samples.bundleID, .sandbox)
        #expect(await !other.begin(Samples.bundleID, .sandbox, lease: .seconds(600)))
        await store.end(Samples.bundleID, .sandbox)
        #expect(await other.begin(Samples.bundleID, .sandbox, lease: .seconds(600)))
    }

    @Test(.redis) func `a loss is noticed although other notifications were stored since`() async throws {
        let store = stage.store(), other = stage.store(), partition = Samples.partition
        for number in 1...2 { _ = try await other.store(Samples.record(), Samples.identity(number), in: partition) }
        // What was stored in the same millisecond may have come before or after.
        try await stage.nextMillisecond()
        _ = try await store.store(Samples.record(), Samples.identity(3), in: partition)
        #expect(await store.survey(partition)?.lostSince == nil)
        // As after a failover to a replica without the last one.
        let seen = NotificationKeys(partition).seen.text
        let name = EntryNames(StoreSamples.keys()).names(of: Samples.identity(3))[0]
        #expect(try stage.server.ask("ZREM", seen, name) == "1")
        _ = try await other.store(Samples.record(), Samples.identity(4), in: partition)
        let lost = try #require(await store.survey(partition)?.lostSince)
        #expect(lost < RedisNotifications.Limits.lostPartition)
        #expect(await store.survey(partition)?.lostSince == nil)
        _ = try await store.store(Samples.record(), Samples.identity(5), in: partition)
        try stage.server.ask("FLUSHALL")
        _ = try await other.store(Samples.record(), Samples.identity(6), in: partition)
        // A survey that arrives late must not take it for an earlier notification.
        try stage.server.ask("CLIENT", "PAUSE", "200")
        #expect(await store.survey(partition)?.lostSince == RedisNotifications.Limits.lostPartition)
    }

    @Test(.redis) func `notifications that are stored during surveys are no loss`() async throws {
        let store = stage.store(), partition = Samples.partition
        try await withThrowingTaskGroup { group in
            for number in 1...400 {
                group.addTask { _ = try await store.store(Samples.record(), Samples.identity(number), in: partition) }
                group.addTask { #expect(await store.survey(partition)?.lostSince == nil) }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Memory and replicas

    @Test(.redis("--maxmemory-policy", "noeviction"))
    func `a full Redis refuses a notification as a whole, and takes it when it has room`() async throws {
        let store = stage.store(), partition = Samples.partition
        for number in 3...5 { _ = try await store.store(Samples.record(), Samples.identity(number), in: partition) }
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        await #expect(throws: NotificationStoreFault.full) {
            try await store.store(Samples.record(), Samples.identity(2), in: partition)
        }
        // Also in partitions whose first notification has an event of its own, or is none.
        let taken = await store.take(from: partition, includingStalled: false)
        let event = FinishedNotification(taken: taken[0], event: StoredEventSamples.event(1))
        #expect(await store.finish([event], in: partition))
        #expect(await store.discard(taken[1], .notGenuine, in: partition))
        await store.finish([taken[2]], in: partition)
        #expect(await store.survey(partition).map { [$0.entries, $0.deadLetters] } == [0, 1])
        try stage.server.ask("CONFIG", "SET", "maxmemory", "0")
        _ = try await store.store(Samples.record(), Samples.identity(1), in: partition)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "1")
        // Applying it makes room.
        #expect(await store.changes([.init(Samples.chain, [Samples.transaction(at: 1)])]) == [.success(true)])
        await store.finish(await store.take(from: partition, includingStalled: false), in: partition)
        #expect(await store.survey(partition)?.entries == 0)
        try stage.server.ask("CONFIG", "SET", "maxmemory", "0")
        #expect(try await store.store(Samples.record(), Samples.identity(2), in: partition))
    }

    @Test(.redis("--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru"))
    func `a volatile-lru Redis under pressure evicts nothing of it`() async throws {
        let store = stage.store(), partition = Samples.partition
        for number in 1...3 { _ = try await store.store(Samples.record(), Samples.identity(number), in: partition) }
        let taken = await store.take(from: partition, includingStalled: false)
        await store.discard(taken[2], .notGenuine, in: partition)
        _ = await store.merge([.init(Samples.chain, [Samples.transaction(at: 1)])])
        await store.record(recovered: StoreSamples.time(5), Samples.bundleID, .sandbox)
        try await stage.fill()
        let survey = try #require(await store.survey(partition))
        #expect(survey.entries == 2 && survey.deadLetters == 1 && survey.fault == nil)
        for number in 1...3 { #expect(try await store.hasSeen(Samples.identity(number), in: partition)) }
        #expect(await store.states(of: [Samples.chain])?.count == 1)
        #expect(try await store.recovered(Samples.bundleID, .sandbox) == StoreSamples.time(5))
    }

    @Test(arguments: ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
    func `a Redis that may evict anything takes no notification`(policy: String) async throws {
        try await NotificationStage.with(["--maxmemory-policy", policy]) { stage in
            let store = stage.store()
            await #expect(throws: NotificationStoreFault.evicts) {
                try await store.store(Samples.record(), Samples.identity(1), in: Samples.partition)
            }
            #expect(await store.survey(Samples.partition)?.fault == .evicts)
        }
    }

    @Test(.redis) func `without the configured replicas a notification is not acknowledged`() async throws {
        let store = stage.store(replicas: 1)
        await #expect(throws: NotificationStoreFault.replicas) {
            try await store.store(Samples.record(), Samples.identity(1), in: Samples.partition)
        }
        let replica = try await RealServer.redis(["--replicaof", "127.0.0.1 \(stage.server.port)"])
        // A replica confirms within the gateway's second only once it follows, so the intake is repeated. It is known
        // by now; the answer still waits for the replica.
        try await eventually("the known notification is confirmed") {
            (try? await store.store(Samples.record(), Samples.identity(1), in: Samples.partition)) == false
        }
        try await eventually("a new notification is confirmed") {
            (try? await store.store(Samples.record(), Samples.identity(2), in: Samples.partition)) != nil
        }
        #expect(try replica.ask("DBSIZE") == "3")
    }

    @Test func `all keys of a partition are on one node of a cluster`() async throws {
        let cluster = try await RedisCluster()
        try await NotificationStage.with(cluster.masters[0], url: "redis+cluster://\(cluster.hosts)") { stage in
            let store = stage.store()
            for number in 1...40 {
                let chain = PurchaseChain(
                    bundleID: Samples.bundleID, environment: .production, originalTransactionID: "\(number)")
                let isStored = try await store.store(Samples.record(), Samples.identity(number), in: chain.partition)
                #expect(isStored)
                #expect(await store.changes([.init(chain, [Samples.transaction(at: 1)])]) == [.success(true)])
                #expect(await store.states(of: [chain])?.count == 1)
            }
            var entries = 0
            for partition in AppPartition.all(of: Samples.bundleID) {
                entries += await store.survey(partition)?.entries ?? 0
            }
            #expect(entries == 40)
        }
    }

    // MARK: States

    @Test(.redis) func `a changed or moved state counts as none`() async throws {
        let store = stage.store()
        _ = await store.merge([.init(Samples.chain, [Samples.renewal(at: 1, willRenew: true)])])
        let name = EntryNames(StoreSamples.keys()).states(of: Samples.chain)[0]
        let key = NotificationKeys(Samples.partition).state(name)
        let stored = try await stage.redis.send(RedisCommand("HGET", key: RedisWord(key), "r"))
        var bytes = try #require(stored.bytes)
        // Another date in front of the same state.
        bytes[5] = bytes[5] == UInt8(ascii: "9") ? UInt8(ascii: "8") : UInt8(ascii: "9")
        _ = try await stage.redis.send(RedisCommand("HSET", key: RedisWord(key), "r", RedisWord(bytes)))
        #expect(await store.states(of: [Samples.chain])?.isEmpty == true)
    }

    @Test(.redis) func `a newer state that only another version can read is kept, and missed`() async throws {
        let store = stage.store(), key = try await Self.storeForeignState(in: stage, at: 5)
        let foreign = try await stage.redis.send(RedisCommand("HGET", key: RedisWord(key), "r"))
        _ = await store.merge([.init(Samples.chain, [Samples.renewal(at: 4, willRenew: true)])])
        #expect(try await stage.redis.send(RedisCommand("HGET", key: RedisWord(key), "r")) == foreign)
        #expect(await store.states(of: [Samples.chain]) == nil)
        _ = await store.merge([.init(Samples.chain, [Samples.renewal(at: 6, willRenew: true)])])
        #expect(await store.states(of: [Samples.chain])?.count == 1)
    }

    /// Stores a plan in a form that this version does not know, and returns the key of its chain.
    private static func storeForeignState(in stage: NotificationStage, at second: Int64) async throws -> String {
        let store = stage.store(), item = Samples.renewal(at: second, willRenew: false)
        _ = await store.merge([.init(Samples.chain, [item])])
        let name = EntryNames(StoreSamples.keys()).states(of: Samples.chain)[0]
        let key = NotificationKeys(Samples.partition).state(name)
        let stored = try #require(try await stage.redis.send(RedisCommand("HGET", key: RedisWord(key), "r")).bytes)
        let order = Array(stored.prefix(SignedStateOrder.textBytes))
        let bound = "\(key) r \(String(decoding: order, as: UTF8.self))"
        let value = order + store.seal.seal([9, 9, 9], for: bound)
        _ = try await stage.redis.send(RedisCommand("HSET", key: RedisWord(key), "r", RedisWord(value)))
        return key
    }

    @Test(.redis) func `what older versions cannot read is in no state`() async throws {
        let store = stage.store(), items = [Samples.transaction(at: 1), Samples.renewal(at: 1, willRenew: true)]
        let rich = items.map { item -> SignedStateItem in
            switch item {
            case .transaction(var transaction):
                var fields = transaction.signedFields?.value ?? SignedTransactionFields()
                fields.advancedCommerceInfo = Array("{}".utf8)
                transaction.signedFields = .value(fields)
                return .transaction(transaction)
            case .renewal(var renewal):
                var fields = renewal.signedFields?.value ?? SignedRenewalFields()
                fields.advancedCommerceInfo = Array("{}".utf8)
                renewal.signedFields = .value(fields)
                return .renewal(renewal)
            }
        }
        _ = await store.merge([.init(Samples.chain, rich)])
        let state = try #require(await store.states(of: [Samples.chain])?.first)
        #expect(state.transactions == items.compactMap(\.transaction) && state.renewals == items.compactMap(\.renewal))
    }

    @Test(.redis) func `a write that fails half way loses no event`() async throws {
        let store = stage.store(), keys = NotificationKeys(Samples.partition)
        func events() async throws -> RedisValue {
            try await stage.redis.send(RedisCommand("XLEN", key: keys.events))
        }
        let purchase = CustomerStateUpdate(Samples.chain, [Samples.transaction(at: 1)])
        let refund = CustomerStateUpdate(Samples.chain, [Samples.transaction(at: 2, revoked: true)])
        _ = await store.merge([purchase])
        let before = try await events()
        _ = await stage.redis.send([
            RedisCommand("DEL", key: keys.due), RedisCommand("SET", key: keys.due, "x"),
        ])
        #expect(await store.changes([refund]) == [.failure(StoreUnreachable())])
        _ = try await stage.redis.send(RedisCommand("DEL", key: keys.due))
        _ = await store.merge([refund])
        #expect(try await events() != before)
    }

    @Test(.redis) func `everything survives a change of the cache keys`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey, partition = Samples.partition
        let before = stage.store(keys: first), during = stage.store(keys: "\(second),\(first)")
        let after = stage.store(keys: second)
        _ = try await before.store(Samples.record(), Samples.identity(1), in: partition)
        _ = await before.merge([.init(Samples.chain, [Samples.transaction(at: 5, revoked: true)])])
        #expect(try await !during.store(Samples.record(), Samples.identity(1), in: partition))
        let taken = await during.take(from: partition, includingStalled: false)
        #expect(try taken.map { try $0.record.get() } == [Samples.record()])
        #expect(await during.states(of: [Samples.chain])?.count == 1)
        // An older state changes nothing, and what is known is encrypted anew.
        _ = await during.merge([.init(Samples.chain, [Samples.transaction(at: 1)])])
        for store in [during, after] {
            let state = try #require(await store.states(of: [Samples.chain])?.first)
            #expect(state.transactions == [Samples.transaction(at: 5, revoked: true)].compactMap(\.transaction))
        }
        #expect(await before.states(of: [Samples.chain])?.isEmpty == true)
    }

    @Test(.redis) func `nothing about a customer is readable`() async throws {
        let store = stage.store()
        _ = try await store.store(Samples.record(), Samples.identity(1), in: Samples.partition)
        _ = await store.merge([.init(Samples.chain, [Samples.transaction("987654321", at: 1)])])
        let secrets = ["notification", "monthly", "987654321", Samples.bundleID, "0000-4000"]
        #expect(try await stage.expectNothingReadable(of: secrets).count == 5)
    }
}
