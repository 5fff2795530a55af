// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Receipts
import Redis
import Resilience
import Testing
import TestSupport

@testable import Gateway
@testable import RedisStore
@testable import ServerTestSupport

/// The behaviour of the cache in Redis only.
@Suite(.timeLimit(.patient)) struct RedisUpstreamCacheTests {
    private var redis: StoreRedis { .current }
    private static let ids = [StoreSamples.originalTransactionID]

    // MARK: Keys

    @Test(.cacheInRedis) func `a key is replaced without a cold cache`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        let key = try StoreSamples.key()
        // In each step, nodes of the previous one are still running.
        let steps = [first, "\(first),\(second)", "\(second),\(first)", second].map { redis.cache($0) }
        await steps[0].keep(try StoreSamples.known(), for: key)
        for step in 0...2 { #expect(await steps[step].result(for: key) != nil) }
        #expect(await steps[3].result(for: key) == nil)
        // Under both names the newest result counts. The first one is made a hundred seconds older.
        let old = RedisWord.result(StoreSamples.name(of: key))
        guard case .integer(let left) = try await redis.node.send(RedisCommand("PTTL", key: old)) else {
            Issue.record("the first finding is not where it should be")
            return
        }
        _ = try await redis.node.send(RedisCommand("PEXPIRE", key: old, RedisWord(Int(left) - 100_000)))
        await steps[2].keep(StoreSamples.gone(at: 100, until: 3700), for: key)
        for step in 1...3 {
            guard case .accountNotFound = await steps[step].result(for: key)?.result else {
                Issue.record("step \(step) has found what was found out first")
                continue
            }
        }
        try await steps[2].purge(transactionIDs: [Self.ids[0]])
        for cache in steps { #expect(await cache.result(for: key, naming: Self.ids) == nil) }
    }

    @Test(.cacheInRedis) func `nothing in Redis is readable`() async throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let cache = redis.cache()
        await cache.keep(try StoreSamples.known(), for: try StoreSamples.key())
        await cache.keep(
            try StoreSamples.known(),
            for: try StoreSamples.key { $0.sentSecret = Secret(secret) })
        await cache.keep(
            StoreSamples.gone(at: 100, until: 3700),
            for: try StoreSamples.key { $0.excludesOldTransactions = true })
        try await cache.purge(transactionIDs: [Self.ids[0]])
        let entries = try await redis.dump()
        #expect(Set(entries.map(\.key)).count == 5 && entries.count >= 8)
        let traces = Self.traces(secret: secret)
        #expect(Self.found(traces, in: entries).isEmpty)
        // The search does find unencrypted data.
        _ = try await redis.node.send(RedisCommand("SET", key: "open", RedisWord(StoreSamples.body())))
        #expect(Self.found(traces, in: try await redis.dump()).count >= 4)
    }

    /// Returns the customer's data in every form in which it might be stored.
    private static func traces(secret: String) -> [[UInt8]] {
        let words = [StoreSamples.bundleID, ids[0], "2000000987654321", secret, "monthly", "latest_receipt", "Sandbox"]
        let plain = words.map { Array($0.utf8) } + [Array(StoreSamples.receipt[200..<232])]
        return plain.flatMap { bytes in
            // Base64 depends on the offset within the text: all three are searched.
            let encoded = (0..<3).map { shift -> [UInt8] in
                var text: [UInt8] = []
                Base64.append(encoding: [UInt8](repeating: 0, count: shift) + bytes, to: &text)
                return Array(text.dropFirst(4).dropLast(4))
            }
            let hexadecimal = Array(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined().utf8)
            return ([bytes, hexadecimal] + encoded).filter { $0.count >= 6 }
        }
    }

    private static func found(_ traces: [[UInt8]], in entries: [(key: [UInt8], value: [UInt8])]) -> [[UInt8]] {
        traces.filter { trace in entries.contains { $0.key.contains(trace) || $0.value.contains(trace) } }
    }

    // MARK: Time

    @Test(.cacheInRedis, arguments: [-7000, -3600, 3600, 7000] as [Int64])
    func `a node with a wrong clock does not mislead others`(
        difference: Int64
    ) async throws {
        let right = redis.cache(clock: StandingClock(100)), wrong = redis.cache(clock: StandingClock(100 + difference))
        let key = try StoreSamples.key()
        for (writer, reader, here, there) in [
            (wrong, right, 100 + difference, 100), (right, wrong, 100, 100 + difference),
        ] {
            await writer.keep(StoreSamples.gone(at: here, until: here + 60), for: key)
            let seen = try #require(await reader.result(for: key))
            // The elapsed time is the one Redis measured.
            let now = StoreSamples.time(there)
            #expect(seen.fetchedAt <= now && now < seen.fetchedAt.advanced(by: .seconds(60)))
            #expect(seen.fetchedAt.duration(to: seen.freshUntil) == .seconds(60))
            #expect(seen.isFresh(at: now, maximumAge: nil))
        }
    }

    @Test(.cacheInRedis) func `a result written with a slow clock is not fresh past its period's end`() async throws {
        // The period ends at 1000; the writer assumes 600 seconds left, the reader 10.
        let known = CachedResult(
            .answered(try StoreSamples.answer()), fetchedAt: StoreSamples.time(400),
            freshUntil: StoreSamples.time(1000))
        let key = try StoreSamples.key()
        await redis.cache(clock: StandingClock(400)).keep(known, for: key)
        let seen = try #require(await redis.cache(clock: StandingClock(990)).result(for: key))
        #expect(seen.freshUntil == StoreSamples.time(1000))
    }

    @Test(.cacheInRedis) func `a value kept for longer than any result is rejected`() async throws {
        let clock = StandingClock(100), faults = FaultLog()
        let cache = redis.cache(clock: clock, faults: faults)
        let key = try StoreSamples.key(), name = RedisWord.result(StoreSamples.name(of: key))
        await cache.keep(try StoreSamples.known(), for: key)
        for command in [RedisCommand("PERSIST", key: name), RedisCommand("PEXPIRE", key: name, 999_999_999)] {
            _ = try await redis.node.send(command)
            #expect(await cache.result(for: key) == nil)
        }
        // An old value is restored hours later.
        _ = try await redis.node.send(RedisCommand("PEXPIRE", key: name, 86_430_000))
        #expect(await cache.result(for: key) != nil)
        clock.set(100 + 7300)
        #expect(await cache.result(for: key) == nil)
        #expect(faults.all == [.implausibleTimes, .implausibleTimes, .implausibleTimes])
    }

    @Test(.cacheInRedis) func `an alias is read for a month, and no longer`() async throws {
        let clock = StandingClock(0), faults = FaultLog(), cache = redis.cache(clock: clock, faults: faults)
        let key = try StoreSamples.key(), name = RedisWord.result(StoreSamples.name(of: key))
        await cache.keep(StoreSamples.alias(at: 0), for: key)
        // Redis's and the node's time pass together: a day is left.
        _ = try await redis.node.send(RedisCommand("PEXPIRE", key: name, 86_400_000))
        clock.set(29 * 86_400)
        let seen = try #require(await cache.result(for: key))
        guard case .alias(let alias) = seen.result else {
            Issue.record("\(seen.result)")
            return
        }
        #expect(alias.originalTransactionID == StoreSamples.originalTransactionID && alias.environment == .sandbox)
        #expect(seen.isFresh(at: clock.time, maximumAge: nil))
        // An old alias is restored, as if it had a month left.
        _ = try await redis.node.send(RedisCommand("PEXPIRE", key: name, RedisWord(30 * 86_400_000)))
        #expect(await cache.result(for: key) == nil && faults.all == [.implausibleTimes])
    }

    @Test(.cacheInRedis) func `Redis drops a result when it is no longer useful`() async throws {
        let key = try StoreSamples.key(), name = RedisWord.result(StoreSamples.name(of: key))
        let disagreement = CachedResult(
            .unanswered(.upstreamDisagrees), fetchedAt: StoreSamples.time(0), freshUntil: StoreSamples.time(300))
        for (known, seconds) in [
            (try StoreSamples.known(), 86_430), (StoreSamples.gone(at: 0, until: 3600), 3660), (disagreement, 300),
            (StoreSamples.alias(at: 0), 30 * 86_400),
        ] as [(CachedResult, Int64)] {
            await redis.cache().keep(known, for: key)
            guard case .integer(let left) = try await redis.node.send(RedisCommand("PTTL", key: name)) else {
                Issue.record("no number")
                return
            }
            #expect(left <= seconds * 1000 && left > (seconds - 60) * 1000)
        }
    }

    // MARK: Faults

    @Test(.cacheInRedis) func `a foreign value is a miss, and counted`() async throws {
        let faults = FaultLog(), cache = redis.cache(faults: faults)
        let key = try StoreSamples.key(), name = StoreSamples.name(of: key)
        let seal = StoreSeal(keys: StoreSamples.keys())
        let stranger = StoreSeal(keys: StoreSamples.keys(StoreSamples.secondKey))
        let bytes = try #require(
            StoredResult(known: try StoreSamples.known(), retention: .seconds(86_430)).bytes)
        let values = [
            [1], Array("x".utf8), seal.seal(bytes, for: "another name"), stranger.seal(bytes, for: name),
            seal.seal([1, 2, 3], for: name),
        ]
        for value in values {
            _ = try await redis.node.send(RedisCommand("SET", key: .result(name), RedisWord(value), "PX", 86_430_000))
            #expect(await cache.result(for: key) == nil)
        }
        #expect(faults.all == [.sealMalformed, .sealMalformed, .sealInvalid, .sealUnknownKey, .unreadable])
        // A value of another type gives an error of Redis.
        _ = await redis.node.send([
            RedisCommand("DEL", key: .result(name)), RedisCommand("RPUSH", key: .result(name), "x"),
        ])
        #expect(await cache.result(for: key) == nil && faults.all.last == .lookupFailed)
    }

    @Test(.cacheInRedis) func `results are still served while Redis is unavailable`() async throws {
        let store = TestRedis(redis.node), faults = FaultLog()
        let cache = redis.cache(faults: faults, through: store)
        let found = try StoreSamples.key(),
            kept = try StoreSamples.key { $0.excludesOldTransactions = true }
        // Another node stores it, and this one looks it up after the announcement.
        let version = cache.version(for: found)
        await redis.cache().keep(try StoreSamples.known(), for: found)
        try await eventually { !version.isCurrent }
        #expect(await cache.result(for: found) != nil)
        store.fail(.timeout)
        #expect(await cache.result(for: found) != nil)
        #expect(await cache.result(for: kept) == nil)
        await cache.keep(try StoreSamples.known(), for: kept)
        #expect(await cache.result(for: kept) != nil)
        await #expect(throws: StoreUnreachable.self) {
            try await cache.purge(transactionIDs: [Self.ids[0]])
        }
        #expect(Set(faults.all) == [.lookupFailed, .insertFailed] && faults.all.count == 4)
        #expect(await cache.lookUp(kept, naming: []).isDetached)
        store.fail(nil)
        // No other node has it.
        #expect(await cache.result(for: kept) == nil)
    }

    @Test(.cacheInRedis) func `a result under an old key is purged, also while Redis is unavailable`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        let key = try StoreSamples.key()
        await redis.cache(first).keep(try StoreSamples.known(), for: key)
        let store = TestRedis(redis.node), cache = redis.cache("\(second),\(first)", through: store)
        #expect(await cache.result(for: key) != nil)
        store.fail(.timeout)
        #expect(await cache.result(for: key) != nil)
        store.fail(nil)
        try await cache.purge(transactionIDs: [Self.ids[0]])
        store.fail(.timeout)
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis) func `a result too large for Redis is kept by its node, and purged there`() async throws {
        let faults = FaultLog(), cache = redis.cache(faults: faults), neighbour = redis.cache()
        let key = try StoreSamples.key()
        await cache.keep(try StoreSamples.known(padding: StoredResult.Limits.bytes), for: key)
        #expect(faults.all == [.tooLarge])
        #expect(await cache.result(for: key) != nil)
        #expect(await neighbour.result(for: key) == nil)
        try await neighbour.purge(transactionIDs: [Self.ids[0]])
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis) func `a result that has outgrown Redis counts, and not its predecessor`() async throws {
        let cache = redis.cache(), key = try StoreSamples.key()
        await cache.keep(try StoreSamples.known(), for: key)
        await cache.keep(try StoreSamples.known(at: 110, padding: StoredResult.Limits.bytes), for: key)
        for _ in 1...2 { #expect(await cache.result(for: key)?.fetchedAt == StoreSamples.time(110)) }
    }

    // MARK: Changes

    @Test(.cacheInRedis) func `a purge reaches all nodes`() async throws {
        let key = try StoreSamples.key(), one = redis.cache(), other = redis.cache()
        await one.keep(try StoreSamples.known(), for: key)
        #expect(await other.result(for: key) != nil)
        let version = other.version(for: key).watching(Self.ids)
        try await one.purge(transactionIDs: [Self.ids[0]])
        try await eventually { !version.isCurrent }
        // Once the purge is known, later results may be served from the near cache again.
        try await eventually { other.version(for: key).isCurrent }
        #expect(other.purgePosition == one.purgePosition && other.purgePosition.number == 1)
    }

    @Test(.cacheInRedis) func `a value is decrypted again only if it has changed`() async throws {
        let clock = StandingClock(100), faults = FaultLog()
        // It gets no announcements, so its copy stays.
        let cache = RedisUpstreamCache(
            store: redis.node, keys: StoreSamples.keys(), localBytes: 1 << 20, clock: { clock.time },
            observe: faults.add)
        let key = try StoreSamples.key(), word = RedisWord.result(StoreSamples.name(of: key))
        await redis.cache().keep(try StoreSamples.known(), for: key)
        let first = try #require(await cache.result(for: key))
        // Its age is the one in Redis, even if nothing else changed.
        _ = try await redis.node.send(RedisCommand("PEXPIRE", key: word, 86_420_000))
        clock.set(200)
        let second = try #require(await cache.result(for: key))
        #expect(first.fetchedAt <= StoreSamples.time(100) && second.fetchedAt > StoreSamples.time(180))
        guard case .string(var sealed) = try await redis.node.send(RedisCommand("GET", key: word)) else {
            Issue.record("no value")
            return
        }
        sealed[sealed.count / 2] ^= 1
        _ = try await redis.node.send(RedisCommand("SET", key: word, RedisWord(sealed), "PX", 86_420_000))
        #expect(await cache.result(for: key) == nil && faults.all == [.sealInvalid])
    }

    @Test(.cacheInRedis) func `a flush outdates everything`() async throws {
        let version = redis.cache().version(for: try StoreSamples.key())
        _ = try await redis.node.send(RedisCommand("FLUSHALL"))
        try await eventually { !version.isCurrent }
    }

    // MARK: Cost

    @Test(.cacheInRedis) func `the memory of a result in Redis`() async throws {
        let key = try StoreSamples.key(), cache = redis.cache()
        await cache.keep(try StoreSamples.known(), for: key)
        func bytes(_ name: RedisWord) async throws -> Int64 {
            let usage = try await redis.node.send(RedisCommand(["MEMORY", "USAGE", name], key: nil))
            guard case .integer(let bytes) = usage else { return .max }
            return bytes
        }
        let result = try await bytes(.result(StoreSamples.name(of: key)))
        try await cache.purge(transactionIDs: [Self.ids[0]])
        let log = try await bytes(RedisPurges.log)
        // Besides Apple's answer and its fields, as the allocator rounds them: the name, the header, the nonce and
        // the tag.
        #expect(result <= Int64(StoreSamples.body().count) * 5 / 4 + 600, "\(result)")
        #expect(log <= 400, "\(log)")
    }
}
