// SPDX-License-Identifier: Apache-2.0

package import JSON

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z without leap seconds, as Apple's `_ms` fields count.
///
/// Years are 0000 to 9999, as in RFC 3339, so that every timestamp has a date and no difference overflows.
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds since the epoch; negative before 1970.
    public let millisecondsSince1970: Int64

    /// Creates a point in time from milliseconds since the epoch, clamped to `earliest` and `latest`.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = min(max(millisecondsSince1970, -62_167_219_200_000), 253_402_300_799_999)
    }

    /// 0000-01-01T00:00:00Z.
    public static let earliest = Timestamp(millisecondsSince1970: .min)
    /// 9999-12-31T23:59:59.999Z.
    public static let latest = Timestamp(millisecondsSince1970: .max)

    /// Nil in the year 0, by which receipts say that there is no date. Many languages have no such year.
    @inline(__always)
    package var unlessYearZero: Timestamp? { millisecondsSince1970 < -62_135_596_800_000 ? nil : self }

    /// Returns the time of the system's clock (`CLOCK_REALTIME`), rounded down to whole milliseconds.
    public static func now() -> Timestamp {
        var time = timespec()
        // SAFETY: the pointer to a local variable is used only during the call.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Orders points in time, the earlier first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }

    /// Returns the point in time later by `duration`, clamped to `earliest` and `latest`.
    public func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = millisecondsSince1970.addingReportingOverflow(duration.wholeMilliseconds)
        return overflow ? (duration < .zero ? .earliest : .latest) : Timestamp(millisecondsSince1970: sum)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero and clamped to 64 bits.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return overflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}

// MARK: - Calendar

/// A date and time of day in the proleptic Gregorian calendar, UTC.
package struct CivilTime: Hashable, Sendable {
    package var year: Int, month: Int, day: Int
    package var hour: Int, minute: Int, second: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// True if the date and the time of day exist (no leap seconds).
    @inline(__always)
    package var exists: Bool {
        (1...12).contains(month) && day >= 1 && day <= Self.days(inMonth: month, of: year)
            && (0..<24).contains(hour) && (0..<60).contains(minute) && (0..<60).contains(second)
    }

    @inline(__always)
    package var secondsSince1970: Int64 {
        Int64(daysSince1970) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    /// Days since the epoch, for years from 0. Years begin in March here, so that a leap day ends its year; 400 years
    /// are added to keep the divisions from negative numbers.
    @inline(__always)
    private var daysSince1970: Int {
        let year = UInt32(truncatingIfNeeded: year &+ (month <= 2 ? 399 : 400))
        let dayOfYear = (153 &* UInt32(truncatingIfNeeded: month &+ (month > 2 ? -3 : 9)) &+ 2) / 5
        let daysOfYears = year &* 365 &+ year / 4 &- year / 100 &+ year / 400
        return Int(daysOfYears &+ dayOfYear) &+ day &- (1 + 719_468 + 146_097)
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private enum Epoch {
        /// Seconds from 0000-01-01 to 1970-01-01.
        static let seconds: Int64 = 62_167_219_200
        /// Days from -0400-03-01, the first day of a cycle of 400 years, to 0000-01-01.
        static let days: UInt32 = 146_097 - 60
    }

    /// Converts a point in time; milliseconds are dropped.
    package init(_ timestamp: Timestamp) {
        // Not negative, so that every quotient is rounded down.
        let seconds = UInt64(timestamp.millisecondsSince1970 &+ Epoch.seconds &* 1000) / 1000
        let days = UInt32(truncatingIfNeeded: seconds / 86_400)
        let secondOfDay = UInt32(truncatingIfNeeded: seconds &- UInt64(days) &* 86_400)
        self.init(cycleDay: days &+ Epoch.days)
        hour = Int(secondOfDay / 3600)
        minute = Int(secondOfDay / 60 % 60)
        second = Int(secondOfDay % 60)
    }

    /// - Parameter cycleDay: the days since -0400-03-01. Years begin in March here, so that a leap day ends its year.
    private init(cycleDay: UInt32) {
        let century = (4 &* cycleDay &+ 3) / 146_097
        let dayOfCentury = cycleDay &- century &* 146_097 / 4
        let yearOfCentury = (4 &* dayOfCentury &+ 3) / 1461
        let dayOfYear = dayOfCentury &- yearOfCentury &* 1461 / 4
        let marchMonth = (5 &* dayOfYear &+ 2) / 153
        let isNextYear = marchMonth >= 10
        self.init(
            year: Int(century &* 100 &+ yearOfCentury) &- 400 &+ (isNextYear ? 1 : 0),
            month: Int(isNextYear ? marchMonth &- 9 : marchMonth &+ 3),
            day: Int(dayOfYear &- (153 &* marchMonth &+ 2) / 5 &+ 1), hour: 0, minute: 0, second: 0)
    }
}

// MARK: - RFC 3339

extension Timestamp {
    /// `2025-12-26T18:39:47Z`, with milliseconds only if there are any (RFC 3339 §5.6).
    public var description: String {
        var bytes: [UInt8] = []
        appendRFC3339(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the description without creating a string: answers hold thousands of dates.
    package func appendRFC3339(to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: Self.longestRFC3339) { $0.append(rfc3339: self) }
    }

    /// The bytes of a description with milliseconds.
    fileprivate static let longestRFC3339 = 24
}

extension OutputSpan<UInt8> {
    /// Eight bytes at a time, the first in the lowest place.
    fileprivate mutating func append(rfc3339 timestamp: Timestamp) {
        let time = CivilTime(timestamp)
        func digits(_ number: Int) -> UInt64 { ASCII.twoDigits(of: UInt64(truncatingIfNeeded: number)) }
        let year = digits(time.year / 100) | digits(time.year % 100) << 16
        append(littleEndian: 0x2D00_002D_0000_0000 | year | digits(time.month) << 40)  // "YYYY-MM-"
        let hourAndMinute = digits(time.hour) << 24 | digits(time.minute) << 48
        append(littleEndian: 0x0000_3A00_0054_0000 | digits(time.day) | hourAndMinute)  // "DDThh:mm"
        append(UInt8(ascii: ":"))
        append(littleEndian: UInt16(truncatingIfNeeded: digits(time.second)))
        let milliseconds = Int(((timestamp.millisecondsSince1970 % 1000) + 1000) % 1000)
        if milliseconds != 0 {
            append(UInt8(ascii: "."))
            append(UInt8(ascii: "0") + UInt8(milliseconds / 100))
            append(littleEndian: UInt16(truncatingIfNeeded: digits(milliseconds % 100)))
        }
        append(UInt8(ascii: "Z"))
    }
}

extension JSONWriter {
    /// Writes a date and its twin in milliseconds; nothing for nil.
    package mutating func member(_ name: StaticString, _ value: Timestamp?) {
        guard let value else { return }
        let count = 2 * name.utf8CodeUnitCount + 12 + Timestamp.longestRFC3339 + Self.longestInteger
        members(ofBytes: count) { output in
            output.append(name: name)
            output.append(UInt8(ascii: "\""))
            output.append(rfc3339: value)
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ","))
            output.append(name: name, suffix: "_ms")
            output.append(integer: value.millisecondsSince1970)
        }
    }
}
