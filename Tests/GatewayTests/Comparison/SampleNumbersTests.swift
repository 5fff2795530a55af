// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Gateway

struct SampleNumbersTests {
    @Test func `the numbers of SplitMix64 are drawn, from 0 to below 1`() {
        // The first outputs of the published generator for the start 0, in 53 bits.
        let expected: [UInt64] = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
        let numbers = SampleNumbers(from: 0)
        #expect(expected.map { _ in numbers.next() } == expected.map { Double($0 >> 11) * 0x1p-53 })
    }

    @Test func `a share of the numbers is below that share`() {
        let numbers = SampleNumbers(from: 7), count = 100_000
        let drawn = (0..<count).map { _ in numbers.next() }
        #expect(drawn.allSatisfy { (0..<1).contains($0) })
        for share in [0.01, 0.5, 0.99] {
            let below = Double(drawn.count { $0 < share }) / Double(count)
            #expect(abs(below - share) < 0.01, "\(share) \(below)")
        }
    }

    @Test func `two generators begin at different numbers`() {
        #expect(SampleNumbers().next() != SampleNumbers().next())
    }
}
