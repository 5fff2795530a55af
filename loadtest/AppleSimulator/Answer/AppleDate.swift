// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// A date in the three formats of Apple's answers.
struct AppleDate: Sendable {
    private let timestamp: Timestamp

    init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    init(_ date: UTCDate) {
        timestamp = date.timestamp
    }

    /// `2020-07-22 17:39:08 Etc/GMT`.
    var plain: String { Self.text(timestamp) + " Etc/GMT" }

    /// `1595439548000`.
    var milliseconds: String { String(timestamp.millisecondsSince1970) }

    /// `2020-07-22 10:39:08 America/Los_Angeles`, in local time, although the key ends in `_pst`.
    var losAngeles: String {
        Self.text(timestamp.advanced(by: .seconds(isDaylightSaving ? -7 * 3600 : -8 * 3600))) + " America/Los_Angeles"
    }

    /// `2020-07-22 17:39:08`.
    private static func text(_ timestamp: Timestamp) -> String {
        let text = UTCDate(timestamp).rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).dropLast())"
    }

    /// True in the months of daylight-saving time in Los Angeles, since 1987; no receipt is older.
    private var isDaylightSaving: Bool {
        let (date, year) = (UTCDate(timestamp), CivilTime(timestamp).year)
        // Energy Policy Act of 2005: the second Sunday in March and the first in November; before that, the first
        // Sunday in April and the last in October. At 2:00 local time, which is 10:00 and 9:00 UTC.
        return year >= 2007
            ? Self.firstSunday(from: UTCDate(year, 3, 8, 10)) <= date
                && date < Self.firstSunday(from: UTCDate(year, 11, 1, 9))
            : Self.firstSunday(from: UTCDate(year, 4, 1, 10)) <= date
                && date < Self.firstSunday(from: UTCDate(year, 10, 25, 9))
    }

    private static func firstSunday(from date: UTCDate) -> UTCDate {
        // 1970-01-01 was a Thursday, four days after a Sunday.
        let weekday = (date.secondsSince1970 / 86_400 + 4) % 7
        return date.advanced(byDays: (7 - weekday) % 7)
    }
}

extension JSONWriter {
    /// Writes nothing for nil.
    mutating func member(_ name: String, _ date: UTCDate?) {
        if let date { member(name, AppleDate(date)) }
    }

    /// Writes `name`, `name_ms` and `name_pst`.
    mutating func member(_ name: String, _ date: AppleDate) {
        member(name, date.plain)
        member(name + "_ms", date.milliseconds)
        member(name + "_pst", date.losAngeles)
    }
}
