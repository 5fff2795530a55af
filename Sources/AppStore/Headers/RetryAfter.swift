// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// How long `Retry-After` asks to wait.
///
/// RFC 9110 §10.2.3 knows seconds and a date; the App Store Server API sends a moment, in milliseconds since 1970.
/// Numbers of these sizes cannot be confused: 10^9 seconds are 31 years, 10^12 ms since 1970 were in 2001.
package enum RetryAfter {
    /// However long the header asks for, an hour is the most: one wrong byte must not switch an upstream off for days.
    package static let maximum: Duration = .seconds(3600)
    private static let maximumBytes = 64

    /// The time to wait from `now`, 0 to `maximum`; nil if the value is none of the known forms.
    package static func duration(_ value: String, now: Timestamp) -> Duration? {
        let text = value.trimmingWhiteSpace
        guard !text.isEmpty, text.utf8.count <= maximumBytes else { return nil }
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if isNumber { return duration(Int64(text) ?? .max, now: now) }
        return HTTPDate.timestamp(text, now: now).map { now.duration(until: $0.millisecondsSince1970) }
    }

    /// The longest time that any of the values asks for.
    package static func duration(_ values: [String], now: Timestamp) -> Duration? {
        values.prefix(8).compactMap { duration($0, now: now) }.max()
    }

    private static func duration(_ number: Int64, now: Timestamp) -> Duration {
        switch number {
        case 1_000_000_000_000...: now.duration(until: number)
        case 1_000_000_000...: now.duration(until: number * 1000)
        default: min(.seconds(number), maximum)
        }
    }
}

extension Timestamp {
    /// From now until then, kept within 0 and the maximum.
    fileprivate func duration(until milliseconds: Int64) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(millisecondsSince1970)
        if overflow { return milliseconds < 0 ? .zero : RetryAfter.maximum }
        return min(max(.milliseconds(difference), .zero), RetryAfter.maximum)
    }
}

extension String {
    /// Without the spaces and tabs around it.
    var trimmingWhiteSpace: String {
        let isWhiteSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isWhiteSpace).reversed().drop(while: isWhiteSpace).reversed())
    }
}
