// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The time of America/Los_Angeles, by the law of the United States.
///
/// Two rules cover all dates since the App Store opened in 2008, and the twenty years before. So no time zone database
/// has to be shipped and updated. If the law changes, change `daylightSavingTime`; `_pst` fields are for display only.
enum PacificTime {
    private static let standardOffset: Int64 = -8 * 3600
    private static let daylightOffset: Int64 = -7 * 3600

    /// Returns the offset from UTC in seconds.
    static func offset(at timestamp: Timestamp) -> Int64 {
        let year = CivilTime(timestamp.advanced(by: .seconds(standardOffset))).year
        guard let range = daylightSavingTime(of: year) else { return standardOffset }
        return range.contains(timestamp) ? daylightOffset : standardOffset
    }

    /// Converts a local time. Of the hour that autumn repeats, the first counts; the hour that spring skips gives nil.
    static func timestamp(showing local: CivilTime) -> Timestamp? {
        for offset in [daylightOffset, standardOffset] {
            let timestamp = Timestamp(millisecondsSince1970: (local.secondsSince1970 - offset) * 1000)
            if self.offset(at: timestamp) == offset { return timestamp }
        }
        return nil
    }

    /// From 2:00 standard time to 2:00 daylight saving time. Nil before 1987 and for years of more than four digits:
    /// those are treated as standard time all year.
    private static func daylightSavingTime(of year: Int) -> Range<Timestamp>? {
        switch year {
        // Energy Policy Act of 2005: from the second Sunday of March to the first of November.
        case 2007...9999:
            sunday(onOrAfter: 8, of: 3, year, standardOffset)..<sunday(onOrAfter: 1, of: 11, year, daylightOffset)
        // Public Law 99-359: from the first Sunday of April to the last of October.
        case 1987..<2007:
            sunday(onOrAfter: 1, of: 4, year, standardOffset)..<sunday(onOrAfter: 25, of: 10, year, daylightOffset)
        default: nil
        }
    }

    /// Returns 2:00, at this offset, of the first Sunday from this day of the month on.
    private static func sunday(onOrAfter day: Int, of month: Int, _ year: Int, _ offset: Int64) -> Timestamp {
        let midnight = CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0).secondsSince1970
        // 1970-01-01 was a Thursday, four days after a Sunday.
        let daysAfterSunday = (midnight / 86_400 + 4) % 7
        let seconds = midnight + (7 - daysAfterSunday) % 7 * 86_400 + 2 * 3600 - offset
        return Timestamp(millisecondsSince1970: seconds * 1000)
    }
}
