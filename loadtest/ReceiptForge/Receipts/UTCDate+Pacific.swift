// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension UTCDate {
    /// The date whose UTC reads as the local time in Los Angeles: one of Apple's forms of a date.
    package var inLosAngeles: UTCDate { advanced(bySeconds: isDaylightSaving ? -7 * 3600 : -8 * 3600) }

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
