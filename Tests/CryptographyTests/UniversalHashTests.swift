// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cryptography

/// Both kinds of products, as far as this processor has them.
@Suite(.serialized) struct UniversalHashTests {
    private static let hashes =
        [UniversalHash(maximumBytes: limit, isCarryless: false)]
        + (UniversalHash.hasCarrylessProducts ? [UniversalHash(maximumBytes: limit)] : [])
    private static let limit = 1000

    private static func tags(_ text: [UInt8]) throws -> [UniversalHash.Tag] {
        try hashes.map {
            let tag = $0.tag(of: text.span)
            return try #require(tag)
        }
    }

    private static func expectDifferentTags(_ one: [UInt8], _ other: [UInt8]) throws {
        for (tag, otherTag) in try zip(tags(one), tags(other)) { #expect(tag != otherTag) }
    }

    @Test(arguments: [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 300])
    func `every bit changes a tag, and the same bytes have the same`(byteCount: Int) throws {
        let text = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(try Self.tags(Array(text)) == Self.tags(text))
        for index in text.indices {
            for bit in 0..<8 {
                var other = text
                other[index] ^= 1 << bit
                try Self.expectDifferentTags(text, other)
            }
        }
    }

    @Test func `zeros of different number have different tags`() throws {
        let texts = (0...64).map { [UInt8](repeating: 0, count: $0) }
        for hash in Self.hashes { #expect(Set(texts.map { hash.tag(of: $0.span) }).count == 65) }
    }

    @Test func `words that change places change a tag`() throws {
        let words = (1...8).map { [UInt8](repeating: $0, count: 8) }
        for one in words.indices {
            for other in words.indices where one != other {
                var swapped = words
                swapped.swapAt(one, other)
                try Self.expectDifferentTags(Array(words.joined()), Array(swapped.joined()))
            }
        }
    }

    @Test func `the tags of two keys differ`() {
        let first = UniversalHash(maximumBytes: 64).tag(of: [1, 2, 3].span)
        #expect(first != UniversalHash(maximumBytes: 64).tag(of: [1, 2, 3].span))
    }

    @Test func `the longest text has a tag, and one byte more has none`() throws {
        let longest = [UInt8](repeating: 1, count: Self.limit)
        try Self.expectDifferentTags(longest, Array(longest.dropLast()))
        let tooLong = longest + [1]
        for hash in Self.hashes {
            let tag = hash.tag(of: tooLong.span)
            #expect(tag == nil)
        }
    }

    @Test func `the sums match the definition`() throws {
        let text = (0..<96).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 3) }
        let key = (0..<14).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }
        let words = stride(from: 0, to: text.count, by: 8).map { start in
            (0..<8).reduce(UInt64(0)) { $0 | UInt64(text[start + $1]) << UInt64(8 * $1) }
        }
        for shift in [0, 2] {
            var (integers, polynomials) = (UInt128(0), UInt128(0))
            for index in stride(from: 0, to: words.count, by: 2) {
                let (one, other) = (key[index + shift], key[index + 1 + shift])
                integers &+= UInt128(words[index] &+ one) &* UInt128(words[index + 1] &+ other)
                polynomials ^= Self.product(words[index] ^ one, words[index + 1] ^ other)
            }
            #expect(UniversalHash.integerSums(of: text.span, key.span)[shift / 2] == integers)
            guard UniversalHash.hasCarrylessProducts else { continue }
            #expect(UniversalHash.carrylessSums(of: text.span, key.span)[shift / 2] == polynomials)
        }
    }

    /// Returns the product of two polynomials over GF(2).
    private static func product(_ one: UInt64, _ other: UInt64) -> UInt128 {
        (0..<64).reduce(0) { $0 ^ (one >> UInt64($1) & 1 == 1 ? UInt128(other) << UInt128($1) : 0) }
    }
}
