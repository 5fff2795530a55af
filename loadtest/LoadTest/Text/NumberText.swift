// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension Int {
    /// With a comma between thousands: `5,004,203`.
    var grouped: String {
        let digits = String(magnitude)
        let lead = (digits.count - 1) % 3 + 1
        let rest = digits.dropFirst(lead)
        let groups = stride(from: 0, to: rest.count, by: 3).map { rest.dropFirst($0).prefix(3) }
        return (self < 0 ? "-" : "") + ([digits.prefix(lead)] + groups).joined(separator: ",")
    }
}

extension Double {
    /// Returns the number with so many decimals, rounded half away from zero: `0.85`.
    func fixed(_ decimals: Int) -> String {
        let unit = (0..<decimals).reduce(1) { power, _ in power * 10 }
        let scaled = Int((magnitude * Double(unit)).rounded())
        let fraction = String(scaled % unit)
        let sign = self < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(scaled) }
        return sign + String(scaled / unit) + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    func rounded(toDecimals decimals: Int) -> Double {
        let unit = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
        return (self * unit).rounded() / unit
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }
    var milliseconds: Double { self / .milliseconds(1) }
}

/// A word as a POSIX shell reads it, quoted only where it must be (POSIX.1-2017, Shell Command Language §2.2.2).
struct ShellWord: CustomStringConvertible {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String {
        if !text.isEmpty, text.utf8.allSatisfy(Self.isPlain) { return text }
        // Nothing is special between single quotes but the quote itself, which is taken out and put in with a backslash.
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: #"'\''"#) + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "/._-+@%".utf8.contains(byte)
        }
    }
}
