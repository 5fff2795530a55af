// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A second in time, UTC, without leap seconds. Dates that Apple gave more precisely also have milliseconds.
package struct UTCDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    package var secondsSince1970: Int64
    /// The part of the second that has passed, 0 to 999. A date in a receipt has none.
    private(set) var milliseconds: Int64 = 0

    package init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Creates a date of the proleptic Gregorian calendar; months and days count from 1.
    package init(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0) {
        let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        secondsSince1970 = time.secondsSince1970
    }

    /// Rounds a timestamp down to a whole second.
    package init(_ timestamp: Timestamp) {
        secondsSince1970 = timestamp.millisecondsSince1970 / 1000
    }

    /// Keeps the milliseconds of a timestamp since 1970.
    package static func exact(_ timestamp: Timestamp) -> UTCDate {
        var date = UTCDate(timestamp)
        date.milliseconds = timestamp.millisecondsSince1970 % 1000
        return date
    }

    package var millisecondsSince1970: Int64 { secondsSince1970 * 1000 + milliseconds }

    /// The same time for the verifier.
    package var timestamp: Timestamp {
        Timestamp(millisecondsSince1970: millisecondsSince1970)
    }

    package static func < (left: UTCDate, right: UTCDate) -> Bool {
        (left.secondsSince1970, left.milliseconds) < (right.secondsSince1970, right.milliseconds)
    }

    /// Returns the date `seconds` later; negative values go back.
    package func advanced(bySeconds seconds: Int64) -> UTCDate {
        var date = self
        date.secondsSince1970 += seconds
        return date
    }

    /// Returns the date `days` of 86,400 seconds later.
    package func advanced(byDays days: Int64) -> UTCDate {
        advanced(bySeconds: days * 86_400)
    }

    /// `2025-12-26T18:39:47Z`, the form of every date in a receipt (RFC 3339), without milliseconds.
    package var rfc3339: String { Timestamp(millisecondsSince1970: secondsSince1970 * 1000).description }

    /// UTCTime through the year 2049, GeneralizedTime from 2050 on (RFC 5280 §4.1.2.5).
    var element: DERNode {
        let text = rfc3339.utf8.filter { !"-T:".utf8.contains($0) }
        return self < UTCDate(2050, 1, 1)
            ? DERNode(.utcTime, Array(text.dropFirst(2))) : DERNode(.generalizedTime, text)
    }
}

/// The forms of a date in transaction receipts and in answers of verifyReceipt.
extension UTCDate {
    /// `2015-11-18 04:34:41 Etc/GMT`
    package var gmtText: String { dateAndTime + " Etc/GMT" }

    /// `2015-11-17 20:34:41 America/Los_Angeles`: local time, although the names of its fields end in `pst`.
    package var pacificText: String { inLosAngeles.dateAndTime + " America/Los_Angeles" }

    /// `1447821281000`
    package var millisecondsText: String { String(millisecondsSince1970) }

    private var dateAndTime: String { String(rfc3339.dropLast().map { $0 == "T" ? " " : $0 }) }

    /// The date whose UTC reads as the local time in Los Angeles: one of Apple's forms of a date.
    private var inLosAngeles: UTCDate { advanced(bySeconds: isDaylightSaving ? -7 * 3600 : -8 * 3600) }

    /// True in the months of daylight-saving time in Los Angeles, since 1987; no receipt is older.
    private var isDaylightSaving: Bool {
        let year = CivilTime(timestamp).year
        // Energy Policy Act of 2005: the second Sunday in March and the first in November; before that, the first
        // Sunday in April and the last in October. At 2:00 local time, which is 10:00 and 9:00 UTC.
        return year >= 2007
            ? Self.firstSunday(from: UTCDate(year, 3, 8, 10)) <= self
                && self < Self.firstSunday(from: UTCDate(year, 11, 1, 9))
            : Self.firstSunday(from: UTCDate(year, 4, 1, 10)) <= self
                && self < Self.firstSunday(from: UTCDate(year, 10, 25, 9))
    }

    private static func firstSunday(from date: UTCDate) -> UTCDate {
        // 1970-01-01 was a Thursday, four days after a Sunday.
        let weekday = (date.secondsSince1970 / 86_400 + 4) % 7
        return date.advanced(byDays: (7 - weekday) % 7)
    }
}
