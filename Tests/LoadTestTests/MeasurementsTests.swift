// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct MeasurementsTests {
    @Test(
        arguments: zip(
            [[], [7], [9, 1, 5], [4, 1, 9, 2], [1, 1, 1, 100, 100]] as [[Double]], [0, 7, 5, 3, 1] as [Double]))
    func `the median is the middle turn`(slices: [Double], median: Double) {
        #expect(Rates(slices).median == median)
    }

    @Test func `a ratio is taken within each round`() {
        // Both entrants were twice as fast in three rounds, one of them in a fourth: by medians alone 1.8 to 1.
        let ours = Rates([90, 180, 90, 180, 180]), floor = Rates([100, 200, 100, 200, 100])
        #expect(ours.ratio(to: floor) == 0.9)
    }

    @Test func `a row compares the same number of threads`() {
        let row = VerifyCase(.two, .fixed, threads: 2, chain: .warm)
        #expect(row.receiptsPerSecond == 60_000 && row.floorPerSecond == 80_000 && row.cmsVerifyPerSecond == 3000)
        #expect(row.ratioToFloor == 0.75 && row.ratioToCMSVerify == 20)
        #expect(row.scaling == 1.875)
        // Two threads were busy for 60,000 receipts: 33 µs each.
        #expect(row.nanosecondsPerReceipt == 33_333)
        #expect(row.receiptsPerSecondLowest == 50_000 && row.receiptsPerSecondHighest == 70_000)
    }

    @Test func `base64 is counted in bytes of text`() {
        let row = VerifyCase(.two, .fixed, threads: 2, chain: .cold)
        #expect(row.base64BytesPerSecond == 10_000 * Double(SampleReceipts.two.meanBase64ByteCount))
    }

    @Test func `without one thread there is no scaling`() {
        let measurements: Measurements = [
            Entrant(implementation: .warm, threads: 2): Rates([4]),
            Entrant(implementation: .floor, threads: 2): Rates([5]),
            Entrant(implementation: .cmsVerify, threads: 2): Rates([1]),
        ]
        #expect(VerifyCase(.two, measurements, threads: 2, chain: .warm).scaling == nil)
    }
}

extension [Entrant: Rates] {
    /// Invented rates for one thread and two.
    static let fixed: Measurements = [
        Entrant(implementation: .warm, threads: 1): Rates([32_000, 32_000, 32_000]),
        Entrant(implementation: .warm, threads: 2): Rates([50_000, 60_000, 70_000]),
        Entrant(implementation: .cold, threads: 1): Rates([1000]),
        Entrant(implementation: .cold, threads: 2): Rates([2000]),
        Entrant(implementation: .floor, threads: 1): Rates([40_000]),
        Entrant(implementation: .floor, threads: 2): Rates([80_000, 80_000, 80_000]),
        Entrant(implementation: .cmsVerify, threads: 1): Rates([1600]),
        Entrant(implementation: .cmsVerify, threads: 2): Rates([3000, 3000, 3000]),
        Entrant(implementation: .base64, threads: 1): Rates([5000]),
        Entrant(implementation: .base64, threads: 2): Rates([10_000]),
    ]
}
