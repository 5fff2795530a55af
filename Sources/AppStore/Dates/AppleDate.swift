// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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
}

// MARK: - Writing

extension AppleDate {
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

    private enum Zone: String, CaseIterable {
        case gmt = "Etc/GMT"
        case pacific = "America/Los_Angeles"
    }
}

// MARK: - Reading

extension AppleDate {
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
