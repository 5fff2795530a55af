// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The dates of HTTP header fields (RFC 9110 §5.6.7), in all three forms that a recipient must accept.
///
/// ```
/// IMF-fixdate    Sun, 06 Nov 1994 08:49:37 GMT
/// rfc850-date    Sunday, 06-Nov-94 08:49:37 GMT
/// asctime-date   Sun Nov  6 08:49:37 1994
/// ```
/// Accepts more than the RFC allows: `UTC` for `GMT`, and any weekday, because the example in RFC 8594 has a wrong one.
package enum HTTPDate {
    private static let maximumBytes = 64

    /// Parses a date; nil for anything else. A year of two digits is read as no more than 50 years after `now`.
    static func timestamp(_ text: String, now: Timestamp) -> Timestamp? {
        guard text.utf8.count <= maximumBytes else { return nil }
        let words = text.split { " ,-:".contains($0) }.map(String.init)
        guard words.count >= 7, Int(words[0]) == nil, let time = civilTime(words, now: now), time.exists else {
            return nil
        }
        return Timestamp(millisecondsSince1970: time.secondsSince1970 * 1000)
    }

    private static func civilTime(_ words: [String], now: Timestamp) -> CivilTime? {
        if words.count == 7 {
            return civilTime(year: words[6], month: words[1], day: words[2], clock: words[3...5], now: now)
        }
        guard words.count == 8, ["GMT", "UTC"].contains(words[7]) else { return nil }
        return civilTime(year: words[3], month: words[2], day: words[1], clock: words[4...6], now: now)
    }

    private static func civilTime(
        year: String, month: String, day: String, clock: ArraySlice<String>, now: Timestamp
    ) -> CivilTime? {
        let clock = clock.compactMap { $0.utf8.count == 2 ? Int(digits: $0.utf8) : nil }
        guard let year = fullYear(year, now: now), let month = months.firstIndex(of: month),
            let day = Int(digits: day.utf8), clock.count == 3
        else { return nil }
        return CivilTime(
            year: year, month: month + 1, day: day, hour: clock[0], minute: clock[1], second: clock[2])
    }

    /// RFC 9110 §5.6.7: a date that appears over 50 years ahead is the most recent past year with the same digits.
    private static func fullYear(_ digits: String, now: Timestamp) -> Int? {
        guard let year = Int(digits: digits.utf8) else { return nil }
        if digits.utf8.count == 4 { return year }
        guard digits.utf8.count == 2 else { return nil }
        let thisYear = CivilTime(now).year
        let candidate = thisYear - thisYear % 100 + year
        return candidate > thisYear + 50 ? candidate - 100 : candidate
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

// MARK: - Writing

extension HTTPDate {
    /// Returns the IMF-fixdate, the only form to send; nil for years without four digits.
    package static func text(_ timestamp: Timestamp) -> String? {
        let time = CivilTime(timestamp)
        guard (0...9999).contains(time.year) else { return nil }
        let day = "\(time.day.padded(to: 2)) \(months[time.month - 1]) \(time.year.padded(to: 4))"
        let clock = [time.hour, time.minute, time.second].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(weekday(of: time)), \(day) \(clock) GMT"
    }

    private static func weekday(of time: CivilTime) -> String {
        let midnight = CivilTime(year: time.year, month: time.month, day: time.day, hour: 0, minute: 0, second: 0)
        // 1970-01-01 was a Thursday; 7 keeps the remainder positive for days before it.
        return weekdays[Int((midnight.secondsSince1970 / 86_400 % 7 + 7 + 4) % 7)]
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}
