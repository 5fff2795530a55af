// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import ReceiptsFoundation
import Testing
import TestSupport

struct TimestampDateTests {
    @Test func `the time now lies between two readings of Foundation's clock`() {
        let before = Date(), now = Timestamp.now(), after = Date()
        // Rounded down, it may be in the millisecond that had begun.
        #expect(Date(now.advanced(by: .milliseconds(1))) >= before && Date(now) <= after)
    }

    @Test func `every millisecond comes back from a date as it was`() {
        var generator = SplitMix64(seed: TestSeed.number(1970))
        let random = (0..<10_000).map { _ in
            Int64.random(in: -62_135_596_800_000..<253_402_300_800_000, using: &generator)
        }
        for milliseconds in random + Array(-1001...1001) + Array(1_697_079_710_000...1_697_079_711_000) {
            let timestamp = Timestamp(millisecondsSince1970: milliseconds)
            if Timestamp(Date(timestamp)) != timestamp { Issue.record("\(milliseconds)") }
        }
    }

    private static let first = Timestamp.earliest.millisecondsSince1970
    private static let last = Timestamp.latest.millisecondsSince1970

    @Test(
        arguments: [
            (0, 0), (1.0004, 1000), (1.0006, 1001), (-1.0004, -1000), (-1.0006, -1001), (1e300, last), (-1e300, first),
            (.infinity, last), (-.infinity, first), (.nan, first),
        ] as [(Double, Int64)])
    func `a date becomes the nearest millisecond there is`(seconds: Double, milliseconds: Int64) {
        #expect(Timestamp(Date(timeIntervalSince1970: seconds)).millisecondsSince1970 == milliseconds)
    }

    @Test func `a date has the timestamp's fraction of a second`() {
        #expect(Date(Timestamp(millisecondsSince1970: 1_500)).timeIntervalSince1970 == 1.5)
        #expect(Date(Timestamp(millisecondsSince1970: -1_500)).timeIntervalSince1970 == -1.5)
    }
}
