// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Caching

struct SharedGenerationsTests {
    private static let maximumBytes = 4000

    private static func count(_ values: inout SharedGenerations<String, Int, Int>, of owner: String) -> Int {
        (0..<10_000).count { values.find($0, of: owner) != nil }
    }

    @Test(arguments: [1, 2, 3, 10])
    func `all owners together stay within the bytes, and each keeps some values`(owners: Int) {
        var values = SharedGenerations<String, Int, Int>(maximumBytes: Self.maximumBytes)
        for number in 0..<1000 {
            for owner in 0..<owners { values.insert(number, for: number, of: "\(owner)", byteCount: 10) }
        }
        let counts = (0..<owners).map { Self.count(&values, of: "\($0)") }
        #expect(counts.reduce(0, +) * 10 <= Self.maximumBytes)
        // An owner whose old values are gone has its young ones, at least from the last half of a share.
        #expect(counts.reduce(0, +) * 10 >= Self.maximumBytes / 4)
        #expect(counts.allSatisfy { $0 > 0 })
    }

    @Test func `an owner alone has at least half of the bytes once they are full`() {
        var values = SharedGenerations<String, Int, Int>(maximumBytes: Self.maximumBytes)
        for number in 0..<1000 {
            values.insert(number, for: number, of: "alone", byteCount: 10)
            // A copy: a value that is found becomes young again.
            var copy = values
            #expect(number < 199 || copy.find(number - 199, of: "alone") == number - 199)
        }
    }

    @Test func `a small share is kept while another owner adds many values`() {
        var values = SharedGenerations<String, Int, Int>(maximumBytes: Self.maximumBytes)
        for number in 0..<50 { values.insert(number, for: number, of: "small", byteCount: 10) }
        for number in 0..<10_000 { values.insert(number, for: number, of: "large", byteCount: 10) }
        #expect(Self.count(&values, of: "small") == 50)
        #expect(Self.count(&values, of: "large") >= 100)
    }

    @Test func `owners have separate values`() {
        var values = SharedGenerations<String, Int, Int>(maximumBytes: Self.maximumBytes)
        values.insert(1, for: 1, of: "one", byteCount: 10)
        #expect(values.find(1, of: "one") == 1 && values.find(1, of: "other") == nil)
    }

    @Test func `a value larger than half of the bytes is not kept, and pushes out nothing`() {
        var values = SharedGenerations<String, Int, Int>(maximumBytes: Self.maximumBytes)
        values.insert(1, for: 1, of: "one", byteCount: 10)
        values.insert(2, for: 2, of: "one", byteCount: Self.maximumBytes / 2 + 1)
        #expect(values.find(1, of: "one") == 1 && values.find(2, of: "one") == nil)
    }
}
