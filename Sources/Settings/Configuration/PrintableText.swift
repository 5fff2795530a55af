// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The longest name that is shown whole, in Unicode scalars; settings have half of it at most.
    static let maximumShownName = 100

    /// The text as a terminal can be trusted with it: no more than so many scalars, and what would not be seen, move the
    /// cursor or turn the direction as `\u{1B}`.
    package func printable(maximum: Int = maximumShownName) -> String {
        var shown = ""
        for scalar in unicodeScalars.prefix(maximum) {
            if scalar.isVisible {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return unicodeScalars.dropFirst(maximum).isEmpty ? shown : shown + "…"
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
