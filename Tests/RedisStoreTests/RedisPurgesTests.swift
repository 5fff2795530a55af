// SPDX-License-Identifier: Apache-2.0

import Redis
import Resilience
import Testing
import TestSupport

@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

/// Purges in Redis: no loss of a key may restore a purged result.
@Suite(.timeLimit(.patient)) struct RedisPurgesTests {
    private var redis: StoreRedis { .current }
    private static let id = StoreSamples.originalTransactionID

    /// A loss in Redis between a purge and the next lookup.
    enum Loss: CaseIterable {
        /// The head is evicted.
        case head
        case log
        /// Both are evicted, as by `FLUSHALL`, and a node with a request to Apple in flight stores the result again.
        case both
        /// The log contains other data.
        case garbage
        /// Head and log are restored from before the purge.
        case rolledBack
        /// The same, and another purge has the number of the lost one.
        case rolledBackAndPurged
        /// The head counts more purges than the log has.
        case shortened
        /// The head has a number that this program cannot read, or one after which it cannot count.
        case largestNumber, longestNumber
        /// The head has a history that this program cannot read.
        case longHistory, noHistory
        /// The keys have other types.
        case headOfAnotherType, logOfAnotherType
    }

    @Test(.cacheInRedis, arguments: Loss.allCases)
    func `no loss in Redis makes a purged result valid`(loss: Loss) async throws {
        let cache = redis.cache(), key = try StoreSamples.key()
        await cache.keep(try StoreSamples.known(), for: key)
        // Another transaction, so that the log is not empty.
        try await cache.purge(transactionIDs: ["5"])
        #expect(await cache.result(for: key) != nil)
        let result = RedisWord.result(StoreSamples.name(of: key))
        let before = try await redis.copies(of: [RedisPurges.head, RedisPurges.log, result])
        try await cache.purge(transactionIDs: [Self.id])
        try await redis.apply(loss, before, by: cache)
        try await redis.restore([before[2]])
        #expect(await cache.result(for: key) == nil)
        // The same for a node that starts now.
        #expect(await redis.cache().result(for: key) == nil)
        // Later results are usable.
        await cache.keep(try StoreSamples.known(), for: key)
        #expect(await cache.result(for: key) != nil)
        try await cache.purge(transactionIDs: [Self.id])
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis, arguments: [Loss.head, .both, .rolledBack])
    func `after a loss it is unknown if an ID was purged before`(loss: Loss) async throws {
        let clock = StandingClock(100), cache = redis.cache(clock: clock)
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(200)) == .unknown)
        try await cache.purge(transactionIDs: ["5"])
        let before = try await redis.copies(of: [RedisPurges.head, RedisPurges.log])
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(99)) == .unknown)
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(101)) == .none)
        try await cache.purge(transactionIDs: [Self.id])
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(99)) == .named)
        clock.set(200)
        try await redis.apply(loss, before, by: cache)
        await cache.redisPurges.catchUp()
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(150)) != .none)
        #expect(cache.knownPurge(of: ["7"], in: nil, since: StoreSamples.time(150)) == .unknown)
        #expect(cache.knownPurge(of: ["7"], in: nil, since: StoreSamples.time(201)) == .none)
    }

    @Test(.cacheInRedis) func `while Redis does not answer it is unknown if an ID was purged`() async throws {
        let store = TestRedis(redis.node), cache = redis.cache(through: store)
        await cache.redisPurges.catchUp()
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(101)) == .none)
        store.fail(.timeout)
        await cache.redisPurges.catchUp()
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(101)) == .unknown)
        try await redis.cache().purge(transactionIDs: [Self.id])
        store.fail(nil)
        await cache.redisPurges.catchUp()
        #expect(cache.knownPurge(of: [Self.id], in: nil, since: StoreSamples.time(101)) == .named)
        #expect(cache.knownPurge(of: ["7"], in: nil, since: StoreSamples.time(101)) == .none)
    }

    @Test(.cacheInRedis) func `a node that starts reads a log of many pages`() async throws {
        let cache = redis.cache(), key = try StoreSamples.key()
        await cache.keep(try StoreSamples.known(), for: key)
        try await cache.purge(transactionIDs: [Self.id])
        let sealed = StoreSeal(keys: StoreSamples.keys()).seal([0x31], for: RedisPurges.Limits.sealedName)
        let others = RedisPurges.Limits.page * 2 + 5
        for _ in 0..<others / 100 + 1 {
            let command = RedisPurges.append.wholeCall(
                keys: RedisPurges.keys, [RedisWord(PurgeHistory.Limits.purges), "1", "f", RedisWord(sealed)])
            _ = await redis.node.send(Array(repeating: command, count: 100))
        }
        let late = redis.cache()
        #expect(await late.result(for: key) == nil)
        #expect(late.purgePosition.number > UInt64(others))
    }

    @Test(.cacheInRedis)
    func `many IDs are purged over other connections, some at a time, while the connections of requests fail`()
        async throws
    {
        let requests = TestRedis([.failure(.timeout)]), others = TestRedis(redis.node)
        let purges = RedisPurges(
            requests, seal: StoreSeal(keys: StoreSamples.keys()), counters: InvalidationCounters(),
            clock: { StoreSamples.time(100) }, observe: { _ in })
        let count = 2 * RedisPurges.Limits.appended + 1, ids = (1...count).map(String.init)
        await #expect(throws: StoreUnreachable.self) { try await purges.purge(ids.map { Purge($0) }) }
        try await purges.purge(ids.map { Purge($0) }, over: others)
        #expect(purges.position.number == UInt64(count))
        #expect(purges.knownPurge(of: [ids[count - 1]], in: nil, since: StoreSamples.time(0)) == .named)
        // Three calls add them; the first of each script is repeated with its source.
        #expect(others.count <= 8)
        let length = try await redis.node.send(RedisCommand("LLEN", key: RedisPurges.log))
        #expect(length == .integer(Int64(count)))
    }

    @Test(.cacheInRedis)
    func `a purge that must be done goes over other connections if those of requests fail`() async throws {
        let requests = TestRedis(redis.node)
        let purges = RedisPurges(
            requests, seal: StoreSeal(keys: StoreSamples.keys()), counters: InvalidationCounters(),
            clock: { StoreSamples.time(100) }, observe: { _ in })
        try await purges.purge([Purge("1")], orOver: TestRedis([.failure(.timeout)]))
        requests.fail(.timeout)
        try await purges.purge([Purge("2")], orOver: redis.node)
        #expect(purges.position.number == 2)
        await #expect(throws: StoreUnreachable.self) {
            try await purges.purge([Purge("3")], orOver: TestRedis([.failure(.timeout)]))
        }
    }

    @Test(.cacheInRedis) func `a log is no longer than its limit`() async throws {
        let cache = redis.cache()
        await cache.redisPurges.catchUp()
        for _ in 0..<5 {
            _ = try await redis.node.run(RedisPurges.append, keys: RedisPurges.keys, 3, "1", "f", "x")
        }
        #expect(try await redis.node.send(RedisCommand("LLEN", key: RedisPurges.log)) == .integer(3))
    }

    @Test(.cacheInRedis) func `an unreadable purge outdates all earlier results`() async throws {
        let faults = FaultLog(), cache = redis.cache(faults: faults), key = try StoreSamples.key()
        await cache.keep(try StoreSamples.known(), for: key)
        let strange = redis.cache(StoreSamples.secondKey)
        try await strange.purge(transactionIDs: ["5"])
        #expect(await cache.result(for: key) == nil)
        #expect(Set(faults.all) == [.sealUnknownKey, .purgesUnknown])
        await cache.keep(try StoreSamples.known(), for: key)
        #expect(await cache.result(for: key) != nil)
    }

    @Test(.cacheInRedis) func `a disconnected node checks its results before it uses them again`() async throws {
        let store = TestRedis(redis.node), key = try StoreSamples.key()
        let cache = redis.cache(through: store), other = redis.cache()
        // Too large for Redis: only this node has it.
        await cache.keep(try StoreSamples.known(padding: StoredResult.Limits.bytes), for: key)
        cache.flushed()
        store.fail(.timeout)
        try await other.purge(transactionIDs: [Self.id])
        let lookUp = await cache.lookUp(key, naming: [])
        #expect(lookUp.result != nil && lookUp.isDetached)
        store.fail(nil)
        cache.flushed()
        #expect(await cache.result(for: key) == nil)
        store.fail(.timeout)
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis) func `an unconfirmed purge is an error`() async throws {
        let store = TestRedis(redis.node), cache = redis.cache(through: store)
        store.fail(.connectionLost)
        await #expect(throws: StoreUnreachable.self) { try await cache.purge(transactionIDs: [Self.id]) }
    }

    @Test(.cacheInRedis) func `many nodes purge at once, and each knows all purges`() async throws {
        let caches = (0..<4).map { _ in redis.cache() }
        try await withThrowingTaskGroup { group in
            for (number, cache) in caches.enumerated() {
                group.addTask {
                    for turn in 0..<50 { try await cache.purge(transactionIDs: ["\(number)\(turn)"]) }
                }
            }
            try await group.waitForAll()
        }
        let key = try StoreSamples.key()
        for cache in caches {
            _ = await cache.result(for: key)
            #expect(cache.purgePosition.number == 200)
            #expect(cache.purgePosition.history == caches[0].purgePosition.history)
        }
    }

    @Test(.cacheInRedis) func `a lookup and a write need the same commands for any number of originals`() async throws {
        let store = TestRedis(redis.node), cache = redis.cache(through: store), key = try StoreSamples.key()
        await cache.keep(StoreSamples.known(naming: (0..<187).map { "\($0)" }), for: key)
        // A purge of another transaction is read once, for all 187.
        try await cache.purge(transactionIDs: ["other"])
        let before = store.sent
        #expect(await cache.result(for: key) != nil)
        #expect(Array(store.sent.dropFirst(before.count)) == ["GET", "PTTL", "GET"])
        await cache.insert(StoreSamples.known(naming: ["1", "2"]).since(cache.purgePosition), for: key)
        #expect(store.sent.last == "SET")
    }
}

extension StoreRedis {
    fileprivate struct Copy {
        let key: RedisWord
        let dump: RedisValue
    }

    fileprivate func copies(of keys: [RedisWord]) async throws -> [Copy] {
        var copies: [Copy] = []
        for key in keys { copies.append(Copy(key: key, dump: try await node.send(RedisCommand("DUMP", key: key)))) }
        return copies
    }

    fileprivate func restore(_ copies: [Copy]) async throws {
        for copy in copies {
            guard case .string(let bytes) = copy.dump else { continue }
            let isResult = copy.key != RedisPurges.head && copy.key != RedisPurges.log
            _ = try await node.send(
                RedisCommand("RESTORE", key: copy.key, isResult ? 86_430_000 : 0, RedisWord(bytes), "REPLACE"))
        }
    }

    fileprivate func apply(
        _ loss: RedisPurgesTests.Loss, _ before: [Copy], by cache: RedisUpstreamCache
    ) async throws {
        switch loss {
        case .head: _ = try await node.send(RedisCommand("DEL", key: RedisPurges.head))
        case .log: _ = try await node.send(RedisCommand("DEL", key: RedisPurges.log))
        case .both: _ = try await node.send(RedisCommand("FLUSHALL"))
        case .garbage:
            _ = await node.send([
                RedisCommand("DEL", key: RedisPurges.log), RedisCommand("RPUSH", key: RedisPurges.log, "a", "b", "c"),
            ])
        case .rolledBack: try await restore(Array(before.prefix(2)))
        case .rolledBackAndPurged:
            try await restore(Array(before.prefix(2)))
            let sealed = StoreSeal(keys: StoreSamples.keys()).seal([0x39], for: RedisPurges.Limits.sealedName)
            _ = try await node.run(
                RedisPurges.append, keys: RedisPurges.keys,
                [RedisWord(PurgeHistory.Limits.purges), "1", "f", RedisWord(sealed)])
        case .shortened: _ = try await node.send(RedisCommand("LTRIM", key: RedisPurges.log, 0, 0))
        case .largestNumber: try await setHead("\(cache.historyName):9007199254740991:f")
        case .longestNumber: try await setHead("\(cache.historyName):99999999999999:f")
        case .longHistory: try await setHead("fffffffffffffffff:1:f")
        case .noHistory: try await setHead("0:1:f")
        case .headOfAnotherType: try await replace(RedisPurges.head, by: "HSET", "x", "1")
        case .logOfAnotherType:
            try await replace(RedisPurges.log, by: "SET", "x")
            // A head that no node knows, so that the log is read.
            try await setHead("\(cache.historyName):2:abc")
        }
    }

    private func setHead(_ text: String) async throws {
        _ = try await node.send(RedisCommand("SET", key: RedisPurges.head, RedisWord(text)))
    }

    private func replace(_ key: RedisWord, by command: RedisWord, _ words: RedisWord...) async throws {
        _ = await node.send([RedisCommand("DEL", key: key), RedisCommand([command, key] + words, key: key)])
    }
}

extension RedisUpstreamCache {
    fileprivate var historyName: String { String(purgePosition.history, radix: 16) }
}
