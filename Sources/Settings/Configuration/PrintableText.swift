// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The maximum length of a name shown whole, in Unicode scalars; settings have at most half of it.
    static let maximumShownName = 100

    /// Returns the text safe for a terminal: at most `maximum` scalars; invisible ones and those that move the cursor
    /// or change the direction appear as `\u{1B}`.
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
