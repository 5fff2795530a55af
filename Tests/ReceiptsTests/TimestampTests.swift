// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing
import TestSupport

@testable import Receipts

struct TimestampTests {
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// Ten thousand seconds between 1900 and 2200, and the seconds around each new year of that period.
    private static let seconds: [Int64] = {
        var generator = SplitMix64(seed: TestSeed.number(1900))
        let random = (0..<10_000).map { _ in Int64.random(in: -2_208_988_800..<7_258_118_400, using: &generator) }
        let newYears = (1900...2200).compactMap { year in
            calendar.date(from: DateComponents(year: year)).map { Int64($0.timeIntervalSince1970) }
        }
        return random + newYears.flatMap { [$0 - 1, $0, $0 + 1] }
    }()

    @Test func `the calendar agrees with Foundation's`() {
        for seconds in Self.seconds {
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            let parts = Self.calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            let time = CivilTime(Timestamp.seconds(seconds))
            let agrees =
                parts.year == time.year && parts.month == time.month && parts.day == time.day
                && parts.hour == time.hour && parts.minute == time.minute && parts.second == time.second
            if !agrees || time.secondsSince1970 != seconds || !time.exists { Issue.record("\(date)") }
        }
    }

    @Test func `a date is written as Foundation writes it, and read back`() {
        for seconds in Self.seconds {
            let text = Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
            let timestamp = Timestamp.seconds(seconds)
            if timestamp.description != text || Timestamp(rfc3339: text) != timestamp { Issue.record("\(text)") }
        }
    }

    @Test func `every day from 1600 to 2400 follows the one before it`() throws {
        var timestamp = try #require(Timestamp(rfc3339: "1600-01-01T00:00:00Z"))
        for _ in 0..<292_194 {
            let time = CivilTime(timestamp)
            let next = CivilTime(timestamp.advanced(by: .seconds(86_400)))
            let isNextDay = next.day == time.day + 1 && next.month == time.month && next.year == time.year
            let isNextMonth = next.day == 1 && next.month == time.month + 1 && next.year == time.year
            let isNextYear = next.day == 1 && next.month == 1 && next.year == time.year + 1 && time.month == 12
            if !(isNextDay || isNextMonth || isNextYear) { Issue.record("\(timestamp)") }
            if time.secondsSince1970 * 1000 != timestamp.millisecondsSince1970 { Issue.record("\(timestamp)") }
            timestamp = timestamp.advanced(by: .seconds(86_400))
        }
        #expect(timestamp.description == "2400-01-01T00:00:00Z")
    }

    @Test(arguments: [1600, 1904, 1996, 2000, 2004, 2024, 2400, 0]) func `a leap year has a 29 February`(year: Int)
        throws
    {
        let text = String(repeating: "0", count: 4 - String(year).count) + "\(year)-02-29T12:00:00Z"
        #expect(try #require(Timestamp(rfc3339: text)).description == text)
    }

    @Test(arguments: [1700, 1800, 1900, 1999, 2001, 2023, 2100, 2200, 2300])
    func `other years have none`(year: Int) {
        #expect(Timestamp(rfc3339: "\(year)-02-29T12:00:00Z") == nil)
        #expect(Timestamp(rfc3339: "\(year)-02-28T12:00:00Z") != nil)
    }

    @Test(arguments: [
        "", "2024-03-01T12:30:15", "2024-03-01T12:30:15z", "2024-03-01t12:30:15Z", "2024-03-01 12:30:15Z",
        "2024-03-01T12:30:15.000Z", "2024-03-01T12:30:15+00:00", "2024-3-01T12:30:15ZZ", "+024-03-01T12:30:15Z",
        "2024-00-01T12:30:15Z", "2024-13-01T12:30:15Z", "2024-03-00T12:30:15Z", "2024-03-32T12:30:15Z",
        "2024-04-31T12:30:15Z", "2024-06-31T12:30:15Z", "2024-09-31T12:30:15Z", "2024-11-31T12:30:15Z",
        "2024-02-30T12:30:15Z", "2024-03-01T24:00:00Z", "2024-03-01T12:60:15Z", "2024-03-01T12:30:60Z",
        "2024-03-01T12:30:1:Z", "2024-03-01T12:30:15Z ", " 2024-03-01T12:30:15Z", "٢٠٢٤-03-01T1Z",
    ])
    func `what is no date is not read`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    /// Any accepted date must be written back exactly as it was read.
    @Test(arguments: 0..<20) func `a changed byte is read as it is written or not at all`(place: Int) {
        var accepted = 0
        for byte in UInt8.min...UInt8.max {
            var bytes = Array("2024-11-21T12:21:11Z".utf8)
            bytes[place] = byte
            guard let timestamp = Timestamp(plainRFC3339: bytes.span, at: 0) else { continue }
            accepted += 1
            #expect(Array(timestamp.description.utf8) == bytes)
        }
        let separators = [4, 7, 10, 13, 16, 19]
        #expect(separators.contains(place) ? accepted == 1 : accepted > 1 && accepted <= 10)
    }

    @Test(
        arguments: [
            ("2020-07-22T18:33:15+0100", "2020-07-22T17:33:15Z"), ("2020-07-22T18:33:15-0100", "2020-07-22T19:33:15Z"),
            ("2020-01-01T00:30:00+0130", "2019-12-31T23:00:00Z"), ("2020-02-28T23:30:00-0030", "2020-02-29T00:00:00Z"),
            ("2020-07-22T18:33:15+0000", "2020-07-22T18:33:15Z"), ("2020-07-22T18:33:15-0000", "2020-07-22T18:33:15Z"),
            ("2020-07-22T18:33:15+2359", "2020-07-21T18:34:15Z"),
        ])
    func `an Xcode offset is taken off`(text: String, expected: String) {
        #expect(Self.xcode(text)?.description == expected)
    }

    @Test(arguments: [
        "2020-07-22T18:33:15+2400", "2020-07-22T18:33:15+0060", "2020-07-22T18:33:15 0100", "2020-07-22T18:33:15+01:0",
        "2020-07-22T18:33:15+010", "2020-07-22T18:33:15+01000", "2020-07-22T18:33:15Z", "2020-02-30T18:33:15+0100",
        "2020-07-22T18:33.15+0100", "2020-07-22T18:33:6a+0100", "2020-07-22T18:33:60+0100", "2020-07-22T18:33:15Z0100",
        "",
    ])
    func `what is no Xcode date is not read`(text: String) {
        #expect(Self.xcode(text) == nil)
    }

    @Test func `a date is not read past the end of the bytes`() {
        let bytes = Array("2024-03-01T12:30:15Z".utf8)
        for start in 1...30 {
            #expect(Timestamp(plainRFC3339: bytes.span, at: start) == nil)
        }
    }

    private static let first = Timestamp.earliest.millisecondsSince1970
    private static let last = Timestamp.latest.millisecondsSince1970

    @Test func `time begins and ends with the years of RFC 3339`() {
        #expect(Timestamp.earliest.description == "0000-01-01T00:00:00Z")
        #expect(Timestamp.latest.description == "9999-12-31T23:59:59.999Z")
    }

    @Test(
        arguments: [
            (0, .milliseconds(1), 1), (0, .milliseconds(-1), -1), (5, .microseconds(1999), 6),
            (5, .microseconds(-1999), 4),
            (last, .seconds(1), last), (first, .seconds(-1), first), (last - 10, .milliseconds(10), last),
            (.max, .zero, last), (.min, .zero, first), (first, .milliseconds(last - first), last),
            (0, .seconds(Int64.max), last), (0, .seconds(Int64.min), first), (.min, .seconds(Int64.max), last),
        ] as [(Int64, Duration, Int64)])
    func `time moves on by whole milliseconds and stops at its ends`(start: Int64, by duration: Duration, end: Int64) {
        #expect(Timestamp(millisecondsSince1970: start).advanced(by: duration).millisecondsSince1970 == end)
    }

    @Test(
        arguments: [
            (.seconds(9_223_372_036_854_775) + .milliseconds(807), .max),
            (.seconds(9_223_372_036_854_775) + .milliseconds(808), .max),
            (.seconds(9_223_372_036_854_775) + .milliseconds(999), .max),
            (.seconds(-9_223_372_036_854_775) - .milliseconds(808), .min),
            (.seconds(-9_223_372_036_854_775) - .milliseconds(999), .min),
            (.seconds(9_223_372_036_854_776), .max), (.seconds(-9_223_372_036_854_776), .min),
        ] as [(Duration, Int64)])
    func `a duration that 64 bits of milliseconds cannot hold is clamped`(duration: Duration, milliseconds: Int64) {
        #expect(duration.wholeMilliseconds == milliseconds)
    }

    @Test(
        arguments: [
            (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"), (999, "1970-01-01T00:00:00.999Z"),
            (-1000, "1969-12-31T23:59:59Z"), (50, "1970-01-01T00:00:00.050Z"), (1000, "1970-01-01T00:00:01Z"),
        ] as [(Int64, String)])
    func `milliseconds are printed where there are any`(milliseconds: Int64, text: String) {
        #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
    }

    private static func xcode(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        return Timestamp(xcode: bytes.span, in: 0..<bytes.count)
    }
}
