// SPDX-License-Identifier: Apache-2.0

/// The dates of HTTP header fields (RFC 9110 §5.6.7), in all three forms that a recipient must accept.
///
/// ```
/// IMF-fixdate    Sun, 06 Nov 1994 08:49:37 GMT
/// rfc850-date    Sunday, 06-Nov-94 08:49:37 GMT
/// asctime-date   Sun Nov  6 08:49:37 1994
/// ```
/// Accepts more than the RFC allows: `UTC` for `GMT`, and any weekday, because the example in RFC 8594 has a wrong
/// weekday.
package enum HTTPDate {
    private static let maximumBytes = 64

    /// Parses a date; nil for anything else. A year of two digits is read as no more than 50 years after `now`.
    package static func timestamp(_ text: String, now: Timestamp) -> Timestamp? {
        guard text.utf8.count <= maximumBytes else { return nil }
        let words = text.utf8.split(whereSeparator: isSeparator)
        guard words.count >= 7, words[0].allSatisfy(isLetter), let time = civilTime(words, now: now), time.exists else {
            return nil
        }
        return Timestamp(millisecondsSince1970: time.secondsSince1970 * 1000)
    }

    private typealias Word = Substring.UTF8View

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: ","), UInt8(ascii: "-"), UInt8(ascii: ":"): true
        default: false
        }
    }

    private static func civilTime(_ words: [Word], now: Timestamp) -> CivilTime? {
        let isASCTime = words.count == 7
        guard isASCTime || words.count == 8 && ["GMT", "UTC"].contains(where: { words[7].elementsEqual($0.utf8) })
        else { return nil }
        let (month, day) = isASCTime ? (words[1], words[2]) : (words[2], words[1])
        let clock = (isASCTime ? words[3...5] : words[4...6]).compactMap { word in
            word.count == 2 ? Int(digits: word) : nil
        }
        guard let year = fullYear(words[isASCTime ? 6 : 3], now: now),
            let month = months.firstIndex(where: { month.elementsEqual($0.utf8) }), let day = Int(digits: day),
            clock.count == 3
        else { return nil }
        return CivilTime(
            year: year, month: month + 1, day: day, hour: clock[0], minute: clock[1], second: clock[2])
    }

    /// RFC 9110 §5.6.7: a date that appears over 50 years ahead is the most recent past year with the same digits.
    private static func fullYear(_ digits: Word, now: Timestamp) -> Int? {
        guard let year = Int(digits: digits) else { return nil }
        if digits.count == 4 { return year }
        guard digits.count == 2 else { return nil }
        let thisYear = CivilTime(now).year
        let candidate = thisYear - thisYear % 100 + year
        return candidate > thisYear + 50 ? candidate - 100 : candidate
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the IMF-fixdate, the only form to send.
    package static func text(_ timestamp: Timestamp) -> String {
        let time = CivilTime(timestamp)
        let day = "\(time.day.padded(to: 2)) \(months[time.month - 1]) \(time.year.padded(to: 4))"
        let clock = [time.hour, time.minute, time.second].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(weekdays[time.daysAfterSunday]), \(day) \(clock) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}

extension CivilTime {
    /// The number of days since the last Sunday, 0...6.
    package var daysAfterSunday: Int {
        let midnight = CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)
        // 1970-01-01 was a Thursday; 7 keeps the remainder positive for days before it.
        return Int((midnight.secondsSince1970 / 86_400 % 7 + 7 + 4) % 7)
    }
}

extension Int {
    /// Parses one to nine decimal digits, without a sign.
    package init?(digits: some Collection<UInt8>) {
        guard (1...9).contains(digits.count) else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        self = value
    }

    package func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }
}
