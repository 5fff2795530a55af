// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Days as people write them in files: `2027-01-31` (RFC 3339 `full-date`), meaning midnight UTC.
enum CalendarDay {
    /// The first moment of the day; nil for a text that names none.
    static func start(of text: String) -> Timestamp? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], let year = Int(parts[0]), let month = Int(parts[1]),
            let day = Int(parts[2]), year >= 1970, (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        let seconds = CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0).secondsSince1970
        let start = Timestamp(millisecondsSince1970: seconds * 1000)
        // A 31 February would come out as some day in March.
        return CivilTime(start).day == day ? start : nil
    }
}
