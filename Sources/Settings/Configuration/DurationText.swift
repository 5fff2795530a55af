// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// Durations are written with their unit: `500ms`, `15s`, `5m`, `24h`, `7d`.
extension Duration: ConfigurationValue {
    package static var accepted: String { "a duration such as 500ms, 15s, 5m, 24h or 7d" }

    /// The units with their milliseconds, largest first.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    package init(configuration text: String) throws(ConfigurationValueFault) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let count = Int64(digits), let unit = Self.units.first(where: { $0.name == name }) else {
            let isBare = !text.isEmpty && name.isEmpty
            throw ConfigurationValueFault(
                description: "\"\(text)\" is not a duration" + (isBare ? ": its unit is missing" : ""))
        }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        if overflow { throw ConfigurationValueFault(description: "\"\(text)\" is too long") }
        self = .milliseconds(milliseconds)
    }

    package var configurationText: String {
        let (seconds, attoseconds) = components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let unit = Self.units.first { milliseconds > 0 && milliseconds.isMultiple(of: $0.milliseconds) }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.name)" } ?? "0s"
    }
}
