// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// A point in time in Apple's three forms: `purchase_date`, `purchase_date_ms`, `purchase_date_pst`.
///
/// Compute with the milliseconds only: the other forms drop them, and one hour each autumn is ambiguous.
package struct AppleDate: Hashable, Sendable {
    package let timestamp: Timestamp

    package init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    /// The plain form: `2023-10-12 03:01:50 Etc/GMT`.
    package var gmt: String {
        Self.text(CivilTime(timestamp), in: .gmt)
    }

    /// The `_ms` form: `1697079710000`.
    package var milliseconds: String {
        String(timestamp.millisecondsSince1970)
    }

    /// The `_pst` form, in summer with daylight saving time: `2023-10-11 20:01:50 America/Los_Angeles`.
    package var pacific: String {
        let local = timestamp.advanced(by: .seconds(PacificTime.offset(at: timestamp)))
        return Self.text(CivilTime(local), in: .pacific)
    }

    private static func text(_ time: CivilTime, in zone: Zone) -> String {
        var text = time.year.padded(to: 4)
        for (separator, number) in [
            ("-", time.month), ("-", time.day), (" ", time.hour), (":", time.minute), (":", time.second),
        ] {
            text += separator + number.padded(to: 2)
        }
        return text + " " + zone.rawValue
    }

    private enum Zone: String {
        case gmt = "Etc/GMT"
        case pacific = "America/Los_Angeles"
    }

    /// Parses any of the three forms; nil for anything else, including dates that do not exist.
    package init?(_ text: String) {
        guard let date = Self(milliseconds: text) ?? Self(zoned: text) else { return nil }
        self = date
    }

    /// Parses the `_ms` form: a 64-bit integer in decimal digits.
    package init?(milliseconds text: String) {
        guard !text.utf8.starts(with: "+".utf8), let milliseconds = Int64(text) else { return nil }
        self.init(Timestamp(millisecondsSince1970: milliseconds))
    }

    private init?(zoned text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, let zone = Zone(rawValue: String(Substring(parts[2]))),
            let time = CivilTime(date: Array(parts[0]), time: Array(parts[1])), time.exists
        else { return nil }
        switch zone {
        case .gmt: self.init(Timestamp(millisecondsSince1970: time.secondsSince1970 * 1000))
        case .pacific:
            guard let timestamp = PacificTime.timestamp(showing: time) else { return nil }
            self.init(timestamp)
        }
    }
}

extension CivilTime {
    /// Parses `2023-10-12` and `03:01:50`, without a check that the day exists.
    fileprivate init?(date: [UInt8], time: [UInt8]) {
        guard date.count == 10, date[4] == UInt8(ascii: "-"), date[7] == UInt8(ascii: "-"),
            time.count == 8, time[2] == UInt8(ascii: ":"), time[5] == UInt8(ascii: ":"),
            let year = Int(digits: date[..<4]), let month = Int(digits: date[5..<7]), let day = Int(digits: date[8...]),
            let hour = Int(digits: time[..<2]), let minute = Int(digits: time[3..<5]),
            let second = Int(digits: time[6...])
        else { return nil }
        self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}

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
    /// such years have standard time all year.
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
        let local = CivilTime(year: year, month: month, day: day, hour: 2, minute: 0, second: 0)
        let seconds = local.secondsSince1970 + Int64((7 - local.daysAfterSunday) % 7) * 86_400 - offset
        return Timestamp(millisecondsSince1970: seconds * 1000)
    }
}
