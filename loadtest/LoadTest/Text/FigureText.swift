// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Numbers as readers compare them.
extension Double {
    /// Returns the number with commas between thousands: `12,345.67`.
    func grouped(_ decimals: Int) -> String {
        guard magnitude < 1e12 else { return scientific }
        let text = fixed(decimals)
        let parts = text.split(separator: ".")
        guard let whole = parts.first.flatMap({ Int($0) }) else { return text }
        // Minus zero has lost its sign.
        let sign = text.hasPrefix("-") && whole == 0 ? "-" : ""
        return sign + whole.grouped + parts.dropFirst().map { "." + $0 }.joined()
    }

    /// Three significant digits, none after thousands: `0.0123`, `1.23`, `123`, `12,345`.
    var significant: String {
        guard magnitude > 0, isFinite else { return isFinite ? "0" : "–" }
        guard magnitude >= 1e-6 else { return scientific }
        return grouped(max(0, min(8, 2 - Int(floor(log10(magnitude))))))
    }

    /// As a person writes it: `60`, `2.5`.
    var plain: String { magnitude >= 1e-6 ? grouped(6).withoutTrailingZeros : significant }

    /// The number on an axis: no superfluous digit, thousands as k, M and G.
    var compact: String {
        for (size, letter) in [(1e9, "G"), (1e6, "M"), (1e4, "k")] where magnitude >= size {
            let unit = letter == "k" ? 1e3 : size
            return (self / unit).grouped(3).withoutTrailingZeros + letter
        }
        guard magnitude >= 1e-6 || self == 0 else { return scientific }
        return grouped(8).withoutTrailingZeros
    }

    private var scientific: String {
        guard isFinite, self != 0 else { return "0" }
        let exponent = Int(floor(log10(magnitude)))
        return (self / pow(10, Double(exponent))).fixed(1) + "e\(exponent)"
    }

    /// A share as a percentage: `0.13 %`.
    var percentText: String {
        let percent = self * 100
        if percent == 0 || percent >= 10 { return percent.fixed(1) + " %" }
        return percent < 0.01 ? "< 0.01 %" : percent.fixed(2) + " %"
    }

    /// The decimals that tell numbers of this size apart.
    var usefulDecimals: Int {
        switch magnitude {
        case ..<0.1: 3
        case ..<10: 2
        case ..<100: 1
        default: 0
        }
    }
}

extension String {
    fileprivate var withoutTrailingZeros: String {
        guard contains(".") else { return self }
        var text = self[...]
        while text.hasSuffix("0") { text.removeLast() }
        return String(text.hasSuffix(".") ? text.dropLast() : text)
    }
}
