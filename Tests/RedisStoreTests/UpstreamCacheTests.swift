// SPDX-License-Identifier: Apache-2.0

import Cryptography
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Gateway
@testable import Resilience
@testable import ServerTestSupport

/// The behaviour of every cache of upstream results, embedded and in Redis.
@Suite(.timeLimit(.patient)) struct UpstreamCacheTests {
    private static func cache(_ kind: StoreKind) -> (cache: any UpstreamCache, clock: StandingClock) {
        let clock = StandingClock(100)
        return switch kind {
        case .embedded: (EmbeddedUpstreamCache(maximumBytes: 8 << 20), clock)
        case .redis: (StoreRedis.current.cache(clock: clock), clock)
        }
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a stored result is found, and replaces the previous one`(kind: StoreKind) async throws {
        let (cache, clock) = Self.cache(kind)
        let key = try StoreSamples.key()
        #expect(await cache.result(for: key) == nil)
        await cache.keep(try StoreSamples.known(), for: key)
        #expect(await cache.result(for: key)?.fetchedAt == StoreSamples.time(100))
        clock.set(110)
        await cache.keep(try StoreSamples.known(at: 110), for: key)
        #expect(await cache.result(for: key)?.fetchedAt == StoreSamples.time(110))
    }

    /// Three receipts, one of another app and one with other contents; three secrets; two options.
    private static func questions() throws -> [CacheKey] {
        var other = StoreSamples.contents, newer = StoreSamples.contents
        other.bundleID = "com.example.other"
        newer.originalApplicationVersion = "another"
        return try [StoreSamples.receipt, StoreSamples.pki.sign(other), StoreSamples.pki.sign(newer)].flatMap {
            receipt in
            try [nil, "a", "b"].flatMap { secret in
                try [false, true].map { excludes in
                    try StoreSamples.key(receipt) {
                        $0.sentSecret = secret.map { Secret($0) }
                        $0.excludesOldTransactions = excludes
                    }
                }
            }
        }
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `requests that differ in any part never share a result`(kind: StoreKind) async throws {
        let keys = try Self.questions()
        #expect(Set(keys).count == 18)
        let cache = Self.cache(kind).cache
        for key in keys {
            #expect(await cache.result(for: key) == nil)
            await cache.keep(try StoreSamples.known(), for: key)
        }
        for key in keys { #expect(await cache.result(for: key) != nil) }
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `all encodings of one receipt share a result`(kind: StoreKind) async throws {
        var text: [UInt8] = []
        Base64.append(encoding: StoreSamples.receipt, to: &text)
        var wrapped: [UInt8] = []
        for (index, character) in text.enumerated() {
            wrapped.append(character)
            if index % 76 == 75 { wrapped += [0x0D, 0x0A] }
        }
        let cache = Self.cache(kind).cache
        await cache.keep(try StoreSamples.known(), for: try StoreSamples.key())
        for encoding in [text, wrapped] {
            let bytes = try Base64.decode(encoding.span)
            #expect(await cache.result(for: try StoreSamples.key(bytes)) != nil)
        }
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a purge affects only results whose answer or receipt names the transaction`(kind: StoreKind) async throws {
        let cache = Self.cache(kind).cache
        let key = try StoreSamples.key(), named = StoreSamples.originalTransactionID
        for (purged, isFound) in [("4", true), (named, false), ("4", true), ("7", false)] {
            await cache.keep(try StoreSamples.known(), for: key)
            try await cache.purge(transactionIDs: [purged])
            #expect((await cache.result(for: key, naming: ["6", "7"]) != nil) == isFound, "\(purged)")
        }
    }

    /// A receipt with 5,000 purchases has a result far too large for Redis.
    @Test(
        .cacheInRedis,
        arguments: StoreKind.allCases,
        [(1, 0), (40, 0), (40, 39), (187, 100), (5000, 2500)] as [(count: Int, purged: Int)])
    func `a purge is complete however many originals a result names`(
        kind: StoreKind, case originals: (count: Int, purged: Int)
    ) async throws {
        let cache = Self.cache(kind).cache
        let key = try StoreSamples.key()
        let ids = (0..<originals.count).map { "20000001234\(10_000 + $0)" }
        await cache.keep(StoreSamples.known(naming: ids), for: key)
        #expect(await cache.result(for: key) != nil)
        try await cache.purge(transactionIDs: [ids[originals.purged]])
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a purge is complete however many results name the transaction`(kind: StoreKind) async throws {
        let cache = Self.cache(kind).cache
        let keys = try (0..<500).map { number in
            try StoreSamples.key { $0.sentSecret = Secret("\(number)") }
        }
        for key in keys { await cache.keep(try StoreSamples.known(), for: key) }
        for key in [keys[0], keys[499]] { #expect(await cache.result(for: key) != nil) }
        try await cache.purge(transactionIDs: [StoreSamples.originalTransactionID])
        for key in keys { #expect(await cache.result(for: key) == nil) }
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a purge affects a result requested before it and stored after it`(kind: StoreKind) async throws {
        let cache = Self.cache(kind).cache
        let key = try StoreSamples.key()
        _ = await cache.result(for: key)
        let before = try StoreSamples.known().since(cache.purgePosition)
        try await cache.purge(transactionIDs: [StoreSamples.originalTransactionID])
        #expect(cache.purgeDecision(for: before, naming: [], in: nil) == .purged)
        await cache.insert(before, for: key)
        #expect(await cache.result(for: key) == nil)
        await cache.keep(try StoreSamples.known(), for: key)
        #expect(await cache.result(for: key) != nil)
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a purge for one app reaches no other app's results`(kind: StoreKind) async throws {
        let cache = Self.cache(kind).cache
        let key = try StoreSamples.key(), id = StoreSamples.originalTransactionID
        await cache.keep(try StoreSamples.known(), for: key)
        try await cache.purge([Purge(id, in: "com.example.other")])
        #expect(await cache.result(for: key, naming: ["6"]) != nil)
        #expect(cache.knownPurge(of: [id], in: key.bundleID, since: StoreSamples.time(100)) != .named)
        try await cache.purge([Purge("6", in: key.bundleID)])
        #expect(cache.knownPurge(of: ["6"], in: key.bundleID, since: StoreSamples.time(100)) == .named)
        #expect(await cache.result(for: key, naming: ["6"]) == nil)
        #expect(await cache.result(for: key) != nil)
        try await cache.purge([Purge(id, in: key.bundleID)])
        #expect(await cache.result(for: key) == nil)
    }

    @Test(.cacheInRedis, arguments: StoreKind.allCases)
    func `a purge outdates the versions that watch the transaction`(kind: StoreKind) async throws {
        let cache = Self.cache(kind).cache
        let key = try StoreSamples.key(), id = StoreSamples.originalTransactionID
        let many = (0...InvalidationCounters.watchedTransactions).map { "\($0)" }
        _ = await cache.result(for: key)
        let versions = [[id], many].map { cache.version(for: key).watching($0) }
        try await cache.purge(transactionIDs: [id])
        for version in versions { #expect(!version.isCurrent) }
        #expect(cache.version(for: key).watching([id]).isCurrent)
    }
}
