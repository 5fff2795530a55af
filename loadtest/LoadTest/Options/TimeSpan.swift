// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A length of time on the command line: `500ms`, `30s`, `2m`, `1h`, or seconds without a unit.
struct TimeSpan: Hashable, Sendable {
    let seconds: Double

    init(seconds: Double) {
        self.seconds = seconds
    }

    /// In the order in which they are tried: `ms` ends with `s`, too.
    private static let units: [(name: String, seconds: Double)] = [
        ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("m", 60), ("h", 3600), ("", 1),
    ]

    /// A year; what is longer was a slip.
    private static let longest = 366.0 * 86_400
}

extension TimeSpan: ExpressibleByArgument {
    init?(argument: String) {
        guard let unit = Self.units.first(where: { argument.hasSuffix($0.name) }),
            let number = PlainNumber.read(argument.dropLast(unit.name.count)), number * unit.seconds <= Self.longest
        else { return nil }
        self.init(seconds: number * unit.seconds)
    }
}

extension TimeSpan: CustomStringConvertible {
    var description: String {
        guard seconds < 1, seconds > 0 else { return "\(PlainNumber.text(seconds))s" }
        return "\(PlainNumber.text(seconds * 1000))ms"
    }
}

/// Numbers as people type them: digits and at most one point; no signs, exponents, infinities.
enum PlainNumber {
    static func read(_ text: some StringProtocol) -> Double? {
        guard !text.isEmpty, text.count <= 15,
            text.utf8.allSatisfy({ $0.decimalValue != nil || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(String(text))
    }

    /// Without a point where there is nothing behind it.
    static func text(_ number: Double) -> String {
        number == number.rounded() && number < 1e15 ? String(Int(number)) : String(number.rounded(toDecimals: 6))
    }
}
