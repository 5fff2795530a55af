// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

@Suite("The owners of a cache's values")
struct CacheOwnersTests {
    private struct Key: Hashable {
        let owner: String
        let number: Int
    }

    private typealias Cache = S3FIFOCache<Key, Int>

    private static let valueBytes = 1000

    private static func insert(_ numbers: Range<Int>, of owner: String, into cache: inout Cache) {
        for number in numbers {
            cache.insert(
                number, for: Key(owner: owner, number: number), of: owner, byteCount: valueBytes - Cache.entryBytes)
        }
    }

    private static func count(_ numbers: Range<Int>, of owner: String, in cache: Cache) -> Int {
        var copy = cache
        return numbers.count { copy.find(Key(owner: owner, number: $0)) == $0 }
    }

    @Test(arguments: [1, 2, 3, 10])
    func `owners that add as many values have as many, and fill the cache together`(owners: Int) {
        var cache = Cache(maximumBytes: 400 * Self.valueBytes)
        for number in 0..<1000 {
            for owner in 0..<owners { Self.insert(number..<number + 1, of: "\(owner)", into: &cache) }
        }
        let counts = (0..<owners).map { Self.count(0..<1000, of: "\($0)", in: cache) }
        #expect(counts.reduce(0, +) == 400)
        #expect(counts.allSatisfy { abs($0 - 400 / owners) <= 1 })
    }

    @Test func `a small share is kept while another owner adds many values`() {
        var cache = Cache(maximumBytes: 400 * Self.valueBytes)
        Self.insert(0..<50, of: "small", into: &cache)
        Self.insert(0..<10_000, of: "large", into: &cache)
        #expect(Self.count(0..<50, of: "small", in: cache) == 50)
        #expect(Self.count(0..<10_000, of: "large", in: cache) == 350)
    }

    @Test func `an owner that adds values takes half of the space of the only other one`() {
        var cache = Cache(maximumBytes: 400 * Self.valueBytes)
        Self.insert(0..<1000, of: "first", into: &cache)
        Self.insert(0..<10_000, of: "second", into: &cache)
        #expect((199...201).contains(Self.count(0..<1000, of: "first", in: cache)))
    }

    @Test func `an owner's values that are used stay while it adds others`() {
        var cache = Cache(maximumBytes: 400 * Self.valueBytes)
        Self.insert(0..<200, of: "other", into: &cache)
        Self.insert(0..<100, of: "owner", into: &cache)
        for number in 0..<100 { _ = cache.find(Key(owner: "owner", number: number)) }
        Self.insert(100..<10_000, of: "owner", into: &cache)
        #expect(Self.count(0..<100, of: "owner", in: cache) == 100)
    }

    @Test func `an owner without values leaves its share to the next`() {
        var cache = Cache(maximumBytes: 400 * Self.valueBytes)
        for number in 0..<1000 {
            Self.insert(0..<3, of: "\(number)", into: &cache)
            for value in 0..<3 { cache.remove(Key(owner: "\(number)", number: value)) }
        }
        #expect(cache.shares.owners.count == 1 && cache.shares.shares.count == 1)
    }
}
