// SPDX-License-Identifier: Apache-2.0

import Foundation
import Receipts
import Testing

@testable import AppStore

struct AppleDateTests {
    @Test(
        arguments: [
            (1_697_079_710_000, "2023-10-12 03:01:50 Etc/GMT", "2023-10-11 20:01:50 America/Los_Angeles"),
            (1_375_340_400_000, "2013-08-01 07:00:00 Etc/GMT", "2013-08-01 00:00:00 America/Los_Angeles"),
            (1_354_432_554_000, "2012-12-02 07:15:54 Etc/GMT", "2012-12-01 23:15:54 America/Los_Angeles"),
            (0, "1970-01-01 00:00:00 Etc/GMT", "1969-12-31 16:00:00 America/Los_Angeles"),
            (-1_000, "1969-12-31 23:59:59 Etc/GMT", "1969-12-31 15:59:59 America/Los_Angeles"),
        ] as [(Int64, String, String)])
    func `a date is written as Apple writes it, and read back`(milliseconds: Int64, gmt: String, pacific: String) {
        let date = AppleDate(Timestamp(millisecondsSince1970: milliseconds))
        #expect((date.gmt, date.pacific, date.milliseconds) == (gmt, pacific, String(milliseconds)))
        for text in [gmt, pacific, String(milliseconds)] { #expect(AppleDate(text) == date) }
    }

    @Test func `only milliseconds keep milliseconds`() {
        let date = AppleDate(Timestamp(millisecondsSince1970: 1_697_079_710_999))
        #expect(date.gmt == "2023-10-12 03:01:50 Etc/GMT")
        #expect(date.pacific == "2023-10-11 20:01:50 America/Los_Angeles")
        #expect(AppleDate(date.milliseconds) == date)
    }

    /// The last second before a change and the first after it.
    @Test(arguments: [
        ("2024-03-10 09:59:59", "2024-03-10 01:59:59"), ("2024-03-10 10:00:00", "2024-03-10 03:00:00"),
        ("2024-11-03 08:59:59", "2024-11-03 01:59:59"), ("2024-11-03 09:00:00", "2024-11-03 01:00:00"),
        ("2006-04-02 09:59:59", "2006-04-02 01:59:59"), ("2006-04-02 10:00:00", "2006-04-02 03:00:00"),
        ("2006-10-29 08:59:59", "2006-10-29 01:59:59"), ("2006-10-29 09:00:00", "2006-10-29 01:00:00"),
        ("2007-03-11 10:00:00", "2007-03-11 03:00:00"), ("2007-11-04 09:00:00", "2007-11-04 01:00:00"),
        ("2015-03-08 10:00:00", "2015-03-08 03:00:00"), ("2015-11-01 09:00:00", "2015-11-01 01:00:00"),
        ("1987-04-05 10:00:00", "1987-04-05 03:00:00"), ("1986-07-01 00:00:00", "1986-06-30 16:00:00"),
        ("2025-01-01 07:59:59", "2024-12-31 23:59:59"),
    ])
    func `clocks change when the law says`(utc: String, local: String) throws {
        #expect(try #require(AppleDate(utc + " Etc/GMT")).pacific == local + " America/Los_Angeles")
    }

    @Test(.enabled(if: TimeZone(identifier: "America/Los_Angeles") != nil, "This machine has no time zone database."))
    func `the time zone database knows no other offsets from 1987 on`() throws {
        let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        let (start, end) = (Int64(536_486_400), Int64(2_145_916_800))
        for seconds in stride(from: start, to: end, by: 3600) {
            let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            guard PacificTime.offset(at: Timestamp(millisecondsSince1970: seconds * 1000)) == Int64(expected) else {
                Issue.record("\(seconds) is \(expected) seconds from UTC")
                return
            }
        }
    }

    @Test func `the repeated hour is read as its first, the skipped one not at all`() {
        #expect(AppleDate("2024-11-03 01:30:00 America/Los_Angeles") == AppleDate("2024-11-03 08:30:00 Etc/GMT"))
        #expect(AppleDate("2024-11-03 02:00:00 America/Los_Angeles") == AppleDate("2024-11-03 10:00:00 Etc/GMT"))
        #expect(AppleDate("2024-03-10 02:30:00 America/Los_Angeles") == nil)
    }

    @Test(arguments: [
        "", " ", "2023-10-12", "2023-10-12 03:01:50", "2023-10-12 03:01:50 Etc/UTC", "2023-10-12T03:01:50Z",
        "2023-13-12 03:01:50 Etc/GMT", "2023-02-29 03:01:50 Etc/GMT", "2023-10-12 24:01:50 Etc/GMT",
        "2023-10-12 03:01:60 Etc/GMT", "2023-10-12  03:01:50 Etc/GMT", "2023-10-12 3:01:50 Etc/GMT",
        "+023-10-12 03:01:50 Etc/GMT", "2023-10-12 03:01:50 Etc/GMT ", "2023/10/12 03:01:50 Etc/GMT", "1e3", "+1",
        "1.0",
        "9223372036854775808", "٢٠٢٣-10-12 03:01:50 Etc/GMT",
    ])
    func `anything else is rejected`(_ text: String) {
        #expect(AppleDate(text) == nil)
    }

    @Test(arguments: [Int64.min, .max, -62_135_769_600_000])
    func `dates far away are written without a fault`(_ milliseconds: Int64) {
        let date = AppleDate(Timestamp(millisecondsSince1970: milliseconds))
        #expect(date.gmt.hasSuffix(" Etc/GMT") && date.pacific.hasSuffix(" America/Los_Angeles"))
    }
}
