// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// The wait that `Retry-After` requests.
///
/// RFC 9110 §10.2.3 allows seconds or a date; the App Store Server API sends milliseconds since 1970. The sizes are
/// unambiguous: 10^9 seconds are 31 years, and 10^12 ms since 1970 are in 2001.
package enum RetryAfter {
    /// The limit of one hour for any value, so that one wrong byte does not disable an upstream for days.
    package static let maximum: Duration = .seconds(3600)
    private static let maximumBytes = 64

    /// Returns the wait from `now`, 0 to `maximum`; nil if the value has no known form.
    package static func duration(_ value: String, now: Timestamp) -> Duration? {
        let text = value.trimmingWhiteSpace
        guard !text.isEmpty, text.utf8.count <= maximumBytes else { return nil }
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if isNumber { return duration(Int64(text) ?? .max, now: now) }
        return HTTPDate.timestamp(text, now: now).map { now.duration(until: $0.millisecondsSince1970) }
    }

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
    /// Returns the time until then, between 0 and the maximum.
    fileprivate func duration(until milliseconds: Int64) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(millisecondsSince1970)
        if overflow { return milliseconds < 0 ? .zero : RetryAfter.maximum }
        return min(max(.milliseconds(difference), .zero), RetryAfter.maximum)
    }
}

extension String {
    var trimmingWhiteSpace: String {
        let isWhiteSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isWhiteSpace).reversed().drop(while: isWhiteSpace).reversed())
    }
}
