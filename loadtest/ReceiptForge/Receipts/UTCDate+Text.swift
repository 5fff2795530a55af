// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension UTCDate {
    /// `2025-12-26T18:39:47Z`, the form of every date in a receipt (RFC 3339).
    public var rfc3339: String {
        let parts = components
        let date = [Self.digits(parts.year, 4), Self.digits(parts.month), Self.digits(parts.day)]
        let time = [Self.digits(parts.hour), Self.digits(parts.minute), Self.digits(parts.second)]
        return date.joined(separator: "-") + "T" + time.joined(separator: ":") + "Z"
    }

    /// UTCTime through the year 2049, GeneralizedTime from 2050 on (RFC 5280 §4.1.2.5).
    var element: DERElement {
        let text = compactText
        return components.year < 2050
            ? DERElement(.utcTime, Array(text.utf8.dropFirst(2)))
            : DERElement(.generalizedTime, Array(text.utf8))
    }

    /// `20251226183947Z`.
    private var compactText: String {
        let parts = components
        let fields = [parts.month, parts.day, parts.hour, parts.minute, parts.second]
        return Self.digits(parts.year, 4) + fields.map { Self.digits($0) }.joined() + "Z"
    }

    private static func digits(_ value: Int64, _ width: Int = 2) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
