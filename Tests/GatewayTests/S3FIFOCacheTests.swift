// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import Resilience

struct S3FIFOCacheTests {
    private typealias Cache = S3FIFOCache<Int, Int>

    /// The bytes of a value in these tests, with its bookkeeping.
    private static let valueBytes = 1000

    /// Returns a cache for a number of values.
    private static func cache(of count: Int) -> Cache { Cache(maximumBytes: count * valueBytes) }

    private static func insert(_ key: Int, into cache: inout Cache, bytes: Int = valueBytes) {
        cache.insert(key, for: key, byteCount: bytes - Cache.entryBytes)
    }

    /// Returns the number of these keys that a cache has. The keys count as used in a copy only.
    private static func count(of keys: some Sequence<Int>, in cache: Cache) -> Int {
        var copy = cache
        return keys.count { copy.find($0) == $0 }
    }

    // MARK: - Values

    @Test func `a value is found until it is removed`() {
        var cache = Self.cache(of: 10)
        for key in 0..<5 { Self.insert(key, into: &cache) }
        #expect(Self.count(of: 0..<10, in: cache) == 5)
        let removed = (cache.remove(2), cache.remove(2))
        #expect(removed == (true, false))
        #expect(cache.find(2) == nil && Self.count(of: 0..<10, in: cache) == 4)
    }

    @Test func `a removed value frees its bytes and its slot`() {
        var cache = Self.cache(of: 4)
        Self.insert(0, into: &cache)
        for key in 1...1000 {
            Self.insert(key, into: &cache)
            let removed = cache.remove(key)
            #expect(removed)
        }
        #expect(cache.find(0) == 0 && cache.byteCount == Self.valueBytes && cache.table.slots.count == 2)
    }

    @Test func `a growing cache has as many chains as slots, so that they stay short`() {
        var cache = Self.cache(of: 1000)
        for key in 0..<100 { Self.insert(key, into: &cache) }
        #expect(cache.table.slots.count == 100 && cache.table.chains.count >= 100)
    }

    @Test func `a later value replaces an earlier one of any size`() {
        var cache = Self.cache(of: 10)
        for bytes in [1000, 5000, 200, 3000] {
            cache.insert(bytes, for: 1, byteCount: bytes - Cache.entryBytes)
            #expect(cache.find(1) == bytes && cache.byteCount == bytes)
        }
    }

    @Test func `a value larger than half of the bytes is not kept, evicts no other, and ends the earlier one`() {
        var cache = Self.cache(of: 10)
        for key in 1...9 { Self.insert(key, into: &cache) }
        Self.insert(1, into: &cache, bytes: 5001)
        #expect(Self.count(of: 1...9, in: cache) == 8 && cache.find(1) == nil)
        Self.insert(1, into: &cache, bytes: 5000)
        #expect(cache.find(1) == 1)
    }

    @Test func `a cache of size 0 keeps nothing`() {
        var cache = Cache(maximumBytes: 0)
        cache.insert(1, for: 1, byteCount: 0)
        #expect(cache.find(1) == nil)
    }

    // MARK: - Size

    @Test func `a full cache stays full and within its bytes, whatever the sizes`() {
        var cache = Cache(maximumBytes: 1 << 20), random = SplitMix64(seed: TestSeed.number(1))
        for key in 0..<20_000 {
            Self.insert(key, into: &cache, bytes: .random(in: 200...30_000, using: &random))
            if key.isMultiple(of: 3) { _ = cache.find(.random(in: 0...key, using: &random)) }
            if key.isMultiple(of: 7) { cache.remove(.random(in: 0...key, using: &random)) }
            #expect(cache.byteCount <= 1 << 20)
            #expect(key < 1000 || !TestSeed.isOfCI || Double(cache.byteCount) >= 0.95 * Double(1 << 20))
        }
        let queued = cache.shares.queues.reduce(0) { $0 + $1.byteCount }
        #expect(queued == cache.byteCount)
    }

    @Test func `values of one byte are counted with their bookkeeping`() {
        var cache = Cache(maximumBytes: 1 << 16)
        for key in 0..<100_000 { cache.insert(key, for: key, byteCount: 1) }
        let tables = cache.table.chains.count * 4 + cache.evictedKeys.upperHalves.count * 4
        #expect(cache.table.slots.count * MemoryLayout<Slot<Int, Int>>.stride + tables <= 1 << 16)
    }

    // MARK: - Eviction

    @Test func `keys that come once do not evict those in use`() {
        var cache = Self.cache(of: 100)
        for key in 0..<80 {
            Self.insert(key, into: &cache)
            _ = cache.find(key)
        }
        for key in 1000..<10_000 { Self.insert(key, into: &cache) }
        #expect(Self.count(of: 0..<80, in: cache) == 80)
    }

    @Test func `an eviction passes over a bounded number of used values`() {
        var cache = Self.cache(of: 5000)
        for key in 0..<5000 { Self.insert(key, into: &cache) }
        for key in 0..<5000 { for _ in 0..<3 { _ = cache.find(key) } }
        Self.insert(5000, into: &cache)
        #expect(Self.count(of: 0...5000, in: cache) == 5000)
        #expect(cache.table.slots.count { $0.uses < Cache.maximumUses } <= Cache.maximumPasses + 1)
    }

    @Test func `values that are not used any more are replaced by those that are`() {
        var cache = Self.cache(of: 100)
        for key in 0..<1000 {
            Self.insert(key, into: &cache)
            for recent in max(0, key - 5)...key { _ = cache.find(recent) }
        }
        #expect(Self.count(of: 0..<800, in: cache) == 0)
    }

    @Test func `a key that returns soon after its eviction stays longer than one that comes once`() throws {
        var cache = Self.cache(of: 100)
        for key in 0..<80 {
            Self.insert(key, into: &cache)
            _ = cache.find(key)
        }
        for key in 1000..<1200 { Self.insert(key, into: &cache) }
        let evicted = try #require((1000..<1200).last { Self.count(of: [$0], in: cache) == 0 })
        for key in [evicted, 2000] { Self.insert(key, into: &cache) }
        for key in 3000..<3050 { Self.insert(key, into: &cache) }
        #expect(Self.count(of: [evicted], in: cache) == 1 && Self.count(of: [2000], in: cache) == 0)
    }

    @Test func `keys with one hash are told apart`() {
        var cache = S3FIFOCache<Colliding, Int>(maximumBytes: 1 << 20)
        for number in 0..<50 { cache.insert(number, for: Colliding(number: number), byteCount: 1) }
        for number in stride(from: 0, to: 50, by: 2) { cache.remove(Colliding(number: number)) }
        for number in 0..<50 {
            #expect(cache.find(Colliding(number: number)) == (number.isMultiple(of: 2) ? nil : number))
        }
    }
}

private struct Colliding: Hashable {
    let number: Int

    func hash(into hasher: inout Hasher) {}
}
