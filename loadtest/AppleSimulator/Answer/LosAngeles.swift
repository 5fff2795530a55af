// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The local time of Apple's servers, with daylight-saving time since 1987; no receipt is older.
enum LosAngeles {
    static func wallClock(at timestamp: Timestamp) -> CivilTime {
        CivilTime(timestamp.advanced(by: .seconds(isDaylightSaving(at: timestamp) ? -7 * 3600 : -8 * 3600)))
    }

    private static func isDaylightSaving(at timestamp: Timestamp) -> Bool {
        let year = Int64(CivilTime(timestamp).year)
        let (spring, autumn) = changes(in: year)
        let second = timestamp.millisecondsSince1970 / 1000
        return spring.secondsSince1970 <= second && second < autumn.secondsSince1970
    }

    /// The days on which clocks change. Energy Policy Act of 2005: the second Sunday in March and the first in
    /// November; before that, the first Sunday in April and the last in October. At 2:00 local time, which is 10:00 and
    /// 9:00 UTC.
    private static func changes(in year: Int64) -> (spring: UTCDate, autumn: UTCDate) {
        year >= 2007
            ? (firstSunday(from: UTCDate(year, 3, 8, 10)), firstSunday(from: UTCDate(year, 11, 1, 9)))
            : (firstSunday(from: UTCDate(year, 4, 1, 10)), firstSunday(from: UTCDate(year, 10, 25, 9)))
    }

    private static func firstSunday(from date: UTCDate) -> UTCDate {
        // 1970-01-01 was a Thursday, four days after a Sunday.
        let weekday = (date.secondsSince1970 / 86_400 + 4) % 7
        return date.advanced(byDays: (7 - weekday) % 7)
    }
}
