// SPDX-License-Identifier: Apache-2.0

import Customers
import RealServers
import Receipts
import Redis
import Resilience
import Testing
import TestSupport

@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

/// The deletion of a customer's data, shown by searching real Redis servers.
@Suite(.timeLimit(.patient)) struct ErasureTests {
    private var stage: NotificationStage { .current }
    private static let customer = StoredCustomer.two[0]
    private static let other = StoredCustomer.two[1]

    /// The ends of the keys that an app has with any customers.
    private static let commonKeys = [
        ":pending", ":seen", ":totals", ":dead", ":states", ":due", ":events", ":relay", ":erased", ":deliveries",
        "gw:{purges}:head", "gw:{purges}:log",
    ]

    private static func isCommon(_ key: String) -> Bool {
        commonKeys.contains { key.hasSuffix($0) } || key.contains(":delivery:")
    }

    private static func erase(_ erasure: Erasure, _ ids: [String]) async throws -> ErasureCount {
        try await erasure.erase(StoredCustomer.bundleID, originalTransactionIDs: ids, account: nil)
    }

    /// Erases one customer of two, by the name of the purchase that is given.
    private static func eraseOne(by id: String, at stage: NotificationStage) async throws {
        let cache = stage.cache(), erasure = stage.erasure(cache)
        try await other.write(to: stage, cache)
        let before = try await RedisSearch(stage.redis)
        try await customer.write(to: stage, cache)
        let written = try await RedisSearch(stage.redis)
        #expect(written.unopened.isEmpty)
        let kinds = ["rc:", ":pending", ":dead", ":events", ":relay", ":state:"]
        for kind in kinds {
            #expect(written.keys(naming: customer.originalTransactionID).contains { $0.contains(kind) }, "\(kind)")
        }
        let count = try await Self.erase(erasure, [id])
        #expect(count[.pendingNotifications] == 1 && count[.deadLetters] == 1 && count[.relayedNotifications] == 2)
        #expect(count[.events] ?? 0 >= 3 && count[.deliveries] == 2)
        #expect(count[.customerStates] == 2 && count[.cachedResults] == 2)

        let after = try await RedisSearch(stage.redis)
        for id in [customer.originalTransactionID, customer.previousID, customer.chain.deliveryName] {
            #expect(!written.keys(naming: id).isEmpty, "the search does not find what is there")
            // Each node must learn the purges.
            #expect(after.keys(naming: id).subtracting(["gw:{purges}:log"]).isEmpty)
        }
        #expect(after.keys.subtracting(before.keys).filter { !isCommon($0) } == [])
        #expect(after.unopened.isEmpty)
        for key in before.keys where !isCommon(key) { #expect(after.contents[key] == before.contents[key]) }
        let again = try await Self.erase(erasure, [id])
        #expect(again == [:])
    }

    // MARK: Everything

    @Test(arguments: [customer.originalTransactionID, customer.previousID])
    func `nothing about an erased customer is left in Redis`(id: String) async throws {
        try await NotificationStage.with { stage in try await Self.eraseOne(by: id, at: stage) }
    }

    @Test func `nothing about an erased customer is left in a cluster`() async throws {
        let cluster = try await RedisCluster()
        try await NotificationStage.with(cluster.masters[0], url: "redis+cluster://\(cluster.hosts)") { stage in
            try await eventually { !stage.redis.masterNodes.isEmpty }
            #expect(stage.redis.masterNodes.count == cluster.masters.count)
            try await Self.eraseOne(by: Self.customer.originalTransactionID, at: stage)
        }
    }

    @Test(.redis) func `an entry under an older key is erased, too`() async throws {
        let keys = "\(StoreSamples.secondKey),\(StoreSamples.firstKey)"
        try await Self.customer.write(to: stage, stage.cache())
        let store = stage.store(keys: keys)
        let subject = ErasureSubject(bundleID: StoredCustomer.bundleID, chains: [Self.customer.chain])
        #expect(try await store.erase(subject)[.pendingNotifications] == 1)
        #expect(try await RedisStateErasure(store: store).erase(subject) == [.customerStates: 1])
        #expect(try await stage.eventLog(keys: keys).erase(subject)[.relayedNotifications] == 2)
        let results = RedisResultErasure(stage.redis, keys: StoreSamples.keys(keys))
        #expect(try await results.erase(subject) == [.cachedResults: 2])
    }

    // MARK: The other customer

    @Test(.redis, arguments: ["0", "1", "1970"])
    func `an ID of Xcode's erases nothing of those whose data has the same number`(id: String) async throws {
        let cache = stage.cache()
        try await Self.other.write(to: stage, cache)
        let before = try await RedisSearch(stage.redis)
        #expect(!before.keys(naming: id).isEmpty)
        #expect(try await Self.erase(stage.erasure(cache), [id]) == [:])
        let after = try await RedisSearch(stage.redis)
        for key in before.keys where !Self.isCommon(key) { #expect(after.contents[key] == before.contents[key]) }
        let left = try #require(await stage.store().survey(Self.other.partition))
        #expect(left.entries == 1 && left.deadLetters == 1)
    }

    @Test(.redis) func `the backlog of the other customers is counted as before`() async throws {
        let cache = stage.cache(), store = stage.store()
        try await Self.other.write(to: stage, cache)
        let before = try #require(await store.survey(Self.other.partition))
        try await Self.customer.write(to: stage, cache)
        _ = try await Self.erase(stage.erasure(cache), [Self.customer.originalTransactionID])
        let after = try #require(await store.survey(Self.other.partition))
        #expect((after.entries, after.bytes) == (before.entries, before.bytes) && before.bytes > 0)
        #expect(after.deadLetters == before.deadLetters)
        let left = try await RedisSearch(stage.redis).keys(naming: Self.other.originalTransactionID)
        for kind in [":pending", ":dead", ":relay"] { #expect(left.contains { $0.hasSuffix(kind) }, "\(kind)") }
        let waiting = try await stage.deliveries().acquire(Self.other.queue)
        #expect(waiting?.held.map(\.chain) == [Self.other.chain.deliveryName])
        #expect(waiting?.gaps == [Self.other.chain.deliveryName])
        let dead = try await stage.deliveries().dead(Self.other.queue, maximum: 10)
        #expect(dead.map(\.eventID) == [Self.other.ownEvents[2].id])
    }

    @Test(.redis) func `deleted events are not missed, and lost ones still are`() async throws {
        let partition = Self.other.partition, log = stage.eventLog()
        for (one, its) in zip(Self.other.ownEvents, Self.customer.ownEvents) {
            try await stage.append(one, to: partition)
            try await stage.append(its, to: partition)
        }
        let subject = ErasureSubject(
            bundleID: StoredCustomer.bundleID,
            chains: [
                Self.customer.chain,
                PurchaseChain(
                    bundleID: StoredCustomer.bundleID, environment: .sandbox,
                    originalTransactionID: Self.customer.previousID),
            ])
        #expect(try await log.erase(subject) == [.events: 3])
        var after = EventPosition.start, read: [LoggedEvent] = []
        for _ in 1...4 {
            let query = EventQuery(partition, after: after, maximum: 1)
            let batch = try #require(await log.read([query])?.first)
            #expect(batch.missed == nil && batch.unreadable == 0)
            read += batch.events
            after = batch.last
        }
        #expect(read.map(\.event) == Self.other.ownEvents && read.map(\.position.number) == [1, 3, 5])
        #expect(after.number == 6)
        // The third event is lost in another way.
        let key = NotificationKeys(partition).events
        _ = try await stage.redis.send(RedisCommand("XDEL", key: key, RedisWord(read[1].position.id)))
        let query = EventQuery(partition, after: read[0].position, maximum: 10)
        let batch = try #require(await log.read([query])?.first)
        #expect(batch.missed == MissedEvents(count: 1) && batch.events == [read[2]])
    }

    @Test(.redis) func `a worker with the lease reads its queue anew`() async throws {
        let cache = stage.cache(), worker = stage.deliveries()
        try await Self.customer.write(to: stage, cache)
        let state = try #require(try await worker.acquire(Self.customer.queue))
        _ = try await Self.erase(stage.erasure(cache), [Self.customer.originalTransactionID])
        await #expect(throws: DeliveryStoreFault.leaseLost) {
            try await worker.save(Self.customer.queue) { $0.held = state.held }
        }
        let anew = try #require(try await worker.acquire(Self.customer.queue))
        #expect(anew.held.isEmpty && anew.gaps.isEmpty && anew.position == state.position)
    }

    @Test(.redis) func `a delivery that is older than the log is found by its purchase`() async throws {
        let cache = stage.cache(), log = NotificationKeys(Self.customer.partition).events
        try await Self.customer.write(to: stage, cache)
        _ = try await stage.redis.send(RedisCommand("XTRIM", key: log, "MAXLEN", 0))
        let count = try await Self.erase(stage.erasure(cache), [Self.customer.originalTransactionID])
        #expect(count[.events] == nil && count[.deliveries] == 1)
        let state = try #require(try await stage.deliveries().acquire(Self.customer.queue))
        #expect(state.held.isEmpty && state.gaps.isEmpty)
    }

    // MARK: Caches

    @Test(.redis) func `no node uses an erased result, also one that is written later`() async throws {
        let first = stage.cache(), second = stage.cache(), id = Self.customer.originalTransactionID
        let key = try StoreSamples.key().naming(id)
        await second.keep(StoreSamples.known(naming: [id]), for: key)
        let before = second.purgePosition
        #expect(await first.result(for: key, naming: [id]) != nil)
        _ = try await Self.erase(stage.erasure(first), [id])
        // It was requested before the erasure.
        await second.insert(StoreSamples.known(naming: [id]).since(before), for: key)
        #expect(await first.result(for: key, naming: [id]) == nil)
        #expect(await second.result(for: key, naming: [id]) == nil)
    }

    @Test(.redis) func `an erasure neither uses nor counts what another app has of the same IDs`() async throws {
        let cache = stage.cache(), id = Self.customer.originalTransactionID
        try await Self.customer.write(to: stage, cache)
        let before = try await RedisSearch(stage.redis)
        let count = try await stage.erasure(cache).erase(
            "com.example.other", originalTransactionIDs: [id], account: nil)
        #expect(count == [:])
        let after = try await RedisSearch(stage.redis)
        for key in before.keys where !Self.isCommon(key) { #expect(after.contents[key] == before.contents[key]) }
        #expect(await cache.result(for: try StoreSamples.key().naming(id), naming: [id]) != nil)
    }

    @Test(.redis, arguments: [CachedResultPurge.Limits.ids, CachedResultPurge.Limits.ids + 1])
    func `an erasure of many purchases takes one place in the history of purges`(count: Int) async throws {
        let first = stage.cache(), second = stage.cache(), key = try StoreSamples.key()
        let isLong = count > CachedResultPurge.Limits.ids
        await first.keep(StoreSamples.known(naming: ["77"]), for: key)
        let version = second.version(watching: ["77"]), before = first.purgePosition.number
        let ids = (1...count).map { "\(1_000_000 + $0)" }
        _ = try await stage.erasure(first).erase(try #require(key.bundleID), originalTransactionIDs: ids, account: nil)
        #expect(first.purgePosition.number - before == (isLong ? 1 : UInt64(count)))
        // All results of the app are purged then, on each node.
        #expect((await second.result(for: key) == nil) == isLong)
        #expect(!isLong || !version.isCurrent)
    }

    @Test(.redis) func `a result in an earlier format is deleted, and not counted`() async throws {
        let seal = StoreSeal(keys: StoreSamples.keys()), id = Self.customer.originalTransactionID
        for (name, content) in [("old", "a \(id) b"), ("other", "a 1\(id) b")] {
            let sealed = seal.seal(Array(content.utf8), for: name)
            _ = try await stage.redis.send(RedisCommand("SET", key: RedisWord("rc:7:\(name)"), RedisWord(sealed)))
        }
        let subject = ErasureSubject(bundleID: StoredCustomer.bundleID, chains: [Self.customer.chain])
        #expect(try await RedisResultErasure(stage.redis, keys: StoreSamples.keys()).erase(subject) == [:])
        #expect(try stage.server.ask("EXISTS", "rc:7:old") == "0")
        #expect(try stage.server.ask("EXISTS", "rc:7:other") == "1")
    }

    @Test(.redis) func `a key that another program uses does not prevent an erasure`() async throws {
        let cache = stage.cache()
        try await Self.customer.write(to: stage, cache)
        _ = try await stage.redis.send(RedisCommand("RPUSH", key: "rc:12:other", "x"))
        let count = try await Self.erase(stage.erasure(cache), [Self.customer.originalTransactionID])
        #expect(count[.cachedResults] == 2)
    }

    // MARK: Faults

    @Test(.redis) func `what a lost connection left is erased by a repetition`() async throws {
        let cache = stage.cache(), log = TestRedis(stage.redis)
        try await Self.customer.write(to: stage, cache)
        let erasure = stage.erasure(cache, log: log)
        log.fail(.notConnected)
        await #expect(throws: StoreUnreachable.self) { try await Self.erase(erasure, [Self.customer.previousID]) }
        let half = try await RedisSearch(stage.redis)
        let left = half.keys(naming: Self.customer.originalTransactionID)
        #expect(left.contains { $0.hasSuffix(":events") } && left.contains { $0.contains(":state:") })
        #expect(!left.contains { $0.hasPrefix("rc:") || $0.hasSuffix(":pending") })
        log.fail(nil)
        // The later name is found again, because the states were left.
        _ = try await Self.erase(erasure, [Self.customer.previousID])
        let after = try await RedisSearch(stage.redis)
        for id in [Self.customer.originalTransactionID, Self.customer.previousID] {
            #expect(after.keys(naming: id).subtracting(["gw:{purges}:log"]).isEmpty)
        }
    }

    @Test(.redis) func `an unreachable Redis erases nothing and says so`() async throws {
        let cache = stage.cache(), erasure = stage.erasure(cache)
        stage.server.kill()
        await #expect(throws: StoreUnreachable.self) {
            try await Self.erase(erasure, [Self.customer.originalTransactionID])
        }
    }
}
