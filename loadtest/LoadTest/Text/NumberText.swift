// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension Int {
    /// The number with a comma between thousands: `5,004,203`.
    var grouped: String {
        let digits = String(magnitude)
        let lead = (digits.count - 1) % 3 + 1
        let rest = digits.dropFirst(lead)
        let groups = stride(from: 0, to: rest.count, by: 3).map { rest.dropFirst($0).prefix(3) }
        return (self < 0 ? "-" : "") + ([digits.prefix(lead)] + groups).joined(separator: ",")
    }
}

extension Double {
    /// Returns the number with this many decimals, rounded half away from zero: `0.85`.
    func fixed(_ decimals: Int) -> String {
        let unit = (0..<decimals).reduce(1) { power, _ in power * 10 }
        let scaled = Int((magnitude * Double(unit)).rounded())
        let fraction = String(scaled % unit)
        let sign = self < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(scaled) }
        return sign + String(scaled / unit) + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    /// Returns the number rounded to this many decimals.
    func rounded(toDecimals decimals: Int) -> Double {
        let unit = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
        return (self * unit).rounded() / unit
    }
}

extension Duration {
    /// The number of seconds.
    var seconds: Double { self / .seconds(1) }
}
