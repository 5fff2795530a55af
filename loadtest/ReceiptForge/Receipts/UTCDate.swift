// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A second in time, UTC, without leap seconds.
public struct UTCDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public var secondsSince1970: Int64

    /// Creates the date this many seconds after 1970-01-01T00:00:00Z.
    public init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Creates a date of the proleptic Gregorian calendar; months and days count from 1.
    public init(
        _ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64 = 0, _ minute: Int64 = 0, _ second: Int64 = 0
    ) {
        let days = Self.days(year: year, month: month, day: day)
        secondsSince1970 = days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// Orders dates, the earlier first.
    public static func < (left: UTCDate, right: UTCDate) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    /// Returns the date `seconds` later; negative values go back.
    public func advanced(bySeconds seconds: Int64) -> UTCDate {
        UTCDate(secondsSince1970: secondsSince1970 + seconds)
    }

    /// Returns the date `days` of 86,400 seconds later.
    public func advanced(byDays days: Int64) -> UTCDate {
        advanced(bySeconds: days * 86_400)
    }
}
