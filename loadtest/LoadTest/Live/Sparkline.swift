// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A row of numbers as characters.
enum Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns a character for each of the last numbers, the largest full; a space for nil.
    static func text(_ values: [Double?], width: Int) -> String {
        let shown = values.suffix(width)
        let most = shown.compactMap(\.self).max() ?? 0
        return String(
            shown.map { value in
                guard let value else { return " " }
                guard most > 0 else { return bars[0] }
                return bars[min(bars.count - 1, Int(value / most * Double(bars.count)))]
            })
    }
}

/// Parts of a whole, side by side.
enum ShareBar {
    /// Returns the number of characters for each part; their sum is `width`, and the largest remainders are rounded up.
    static func widths(_ parts: [Int], width: Int) -> [Int] {
        let sum = parts.reduce(0, +)
        guard sum > 0 else { return parts.map { _ in 0 } }
        let exact = parts.map { Double($0) * Double(width) / Double(sum) }
        var widths = exact.map { Int($0) }
        let byRemainder = exact.indices.sorted { exact[$0] - Double(widths[$0]) > exact[$1] - Double(widths[$1]) }
        for index in byRemainder.prefix(max(0, width - widths.reduce(0, +))) { widths[index] += 1 }
        return widths
    }
}
