// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(_ timestamp: Timestamp) -> String {
        let time = CivilTime(timestamp)
        // 1970-01-01 was a Thursday.
        let days = Int((Double(timestamp.millisecondsSince1970) / 86_400_000).rounded(.down))
        let weekday = weekdays[((days % 7) + 7) % 7]
        return "\(weekday), \(two(time.day)) \(months[time.month - 1]) \(time.year) "
            + "\(two(time.hour)):\(two(time.minute)):\(two(time.second)) GMT"
    }

    private static func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
}
