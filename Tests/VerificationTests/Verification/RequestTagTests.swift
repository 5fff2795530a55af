// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import API

@Suite("The tags of requests")
struct RequestTagTests {
    @Test(arguments: [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 300])
    func `every byte changes a tag, and the same bytes have the same`(byteCount: Int) throws {
        let body = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let tag = try Self.tag(body)
        #expect(try Self.tag(Array(body)) == tag)
        for index in body.indices {
            for bit in 0..<8 {
                var other = body
                other[index] ^= 1 << bit
                #expect(try Self.tag(other) != tag)
            }
        }
    }

    @Test func `zeros of different number have different tags`() throws {
        let tags = try (0...64).map { try Self.tag([UInt8](repeating: 0, count: $0)) }
        #expect(Set(tags).count == 65)
    }

    @Test func `words that change places change a tag`() throws {
        let words = (1...8).map { [UInt8](repeating: $0, count: 8) }
        let tag = try Self.tag(Array(words.joined()))
        for one in words.indices {
            for other in words.indices where one != other {
                var swapped = words
                swapped.swapAt(one, other)
                #expect(try Self.tag(Array(swapped.joined())) != tag)
            }
        }
    }

    @Test func `the longest body has a tag, and one byte more has none`() throws {
        let longest = [UInt8](repeating: 1, count: NearCache.Limits.bodyBytes)
        #expect(try Self.tag(longest) != Self.tag(Array(longest.dropLast())))
        let tooLong = longest + [1], tag = RequestTag(of: tooLong.span)
        #expect(tag == nil)
    }

    private static func tag(_ body: [UInt8]) throws -> RequestTag {
        let tag = RequestTag(of: body.span)
        return try #require(tag)
    }
}
