// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

struct UTCDateTests {
    /// Literal values: the verifier under test counts with the same calendar.
    @Test(arguments: [
        (UTCDate(1970, 1, 1), 0, "1970-01-01T00:00:00Z"),
        (UTCDate(1969, 12, 31, 23, 59, 59), -1, "1969-12-31T23:59:59Z"),
        (UTCDate(2000, 2, 29), 951_782_400, "2000-02-29T00:00:00Z"),
        (UTCDate(2024, 3, 1, 12, 10, 15), 1_709_295_015, "2024-03-01T12:10:15Z"),
        (UTCDate(2100, 2, 28, 23, 59, 59), 4_107_542_399, "2100-02-28T23:59:59Z"),
        (UTCDate(2100, 3, 1), 4_107_542_400, "2100-03-01T00:00:00Z"),
        (UTCDate(4001, 1, 1), 64_092_211_200, "4001-01-01T00:00:00Z"),
    ])
    func `a calendar date has these seconds and this text`(date: UTCDate, seconds: Int64, text: String) {
        #expect(date.secondsSince1970 == seconds && date.rfc3339 == text)
    }

    @Test(arguments: [(1_350_157_508_197, 197), (1_350_157_508_000, 0)] as [(Int64, Int64)])
    func `milliseconds are kept on request, and never in receipts`(milliseconds: Int64, part: Int64) {
        let timestamp = Timestamp(millisecondsSince1970: milliseconds)
        let (exact, rounded) = (UTCDate.exact(timestamp), UTCDate(timestamp))
        #expect(exact.timestamp == timestamp && exact.millisecondsSince1970 == milliseconds)
        #expect(exact.advanced(byDays: 1).millisecondsSince1970 % 1000 == part)
        #expect(exact.rfc3339 == "2012-10-13T19:45:08Z" && rounded.rfc3339 == exact.rfc3339)
        #expect((rounded < exact) == (part != 0) && (rounded == exact) == (part == 0))
    }

    @Test func `every day of eight centuries survives the way there and back`() {
        for day in stride(from: Int64(-146_097), through: 146_097, by: 1) {
            let date = UTCDate(secondsSince1970: day * 86_400)
            let parts = date.rfc3339.split(whereSeparator: { "-T".contains($0) }).compactMap { Int($0) }
            #expect(UTCDate(parts[0], parts[1], parts[2]) == date)
        }
    }
}
