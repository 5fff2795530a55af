// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import AppStore

struct ClockSkewTests {
    private static let now = Timestamp(millisecondsSince1970: 1_760_000_000_500)

    @Test(
        arguments: [
            // Apple's whole second may have begun up to a second before, and at any moment of the exchange.
            (-500, 0, 0), (-1000, 0, 0), (0, 0, 0), (1, 0, 1), (-1001, 0, -1), (-3000, 2000, 0), (-3001, 2000, -1),
            (2000, 2000, 2000),
            (40_000, 0, 40_000), (-40_000, 0, -39_000), (86_400_000, 0, 86_400_000), (86_400_001, 0, 86_400_000),
            (-86_401_001, 0, -86_400_000), (Int64.max, 0, 86_400_000), (-4_000_000_000_000, 0, -86_400_000),
        ] as [(Int64, Int64, Int64)])
    func `the correction is the smallest that explains the date`(ahead: Int64, took: Int64, correction: Int64) {
        var skew = ClockSkew()
        let date = Self.now.advanced(by: .milliseconds(ahead))
        _ = skew.record(date, receivedAt: Self.now, after: .milliseconds(took))
        #expect(skew.correction == .milliseconds(correction))
    }

    @Test func `a difference above thirty seconds is reported once, and its end`() {
        var skew = ClockSkew()
        let reports = [30, 31, 500, 32, 10, 0, -33].map { seconds in
            skew.record(Self.now.advanced(by: .seconds(seconds)), receivedAt: Self.now, after: .zero)
        }
        #expect(reports == [nil, .exceeds(.seconds(31)), nil, nil, .ended, nil, .exceeds(.seconds(-32))])
    }

    @Test func `a token made with another correction was wrong from thirty seconds on`() {
        var skew = ClockSkew()
        _ = skew.record(Self.now.advanced(by: .seconds(31)), receivedAt: Self.now, after: .zero)
        #expect(skew.disagrees(with: .zero))
        #expect(!skew.disagrees(with: .seconds(1)) && !skew.disagrees(with: .seconds(61)))
        #expect(skew.disagrees(with: .seconds(62)))
    }

    @Test func `a later answer replaces the correction`() {
        var skew = ClockSkew()
        for seconds in [50, 0] {
            _ = skew.record(Self.now.advanced(by: .seconds(seconds)), receivedAt: Self.now, after: .zero)
        }
        #expect(skew.correction == .zero)
    }
}
