// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

extension Duration {
    /// The duration for people: `0.14 ms`, `23 ms`, `1.7 s`.
    var rounded: String {
        let milliseconds = self / .milliseconds(1)
        switch abs(milliseconds) {
        case ..<1: return "\((milliseconds * 100).rounded() / 100) ms"
        case ..<1000: return "\(Int(milliseconds.rounded())) ms"
        default: return "\((milliseconds / 100).rounded() / 10) s"
        }
    }

    /// A clock's difference, before the name of the other clock: `3.0 s ahead of`, `12.5 s behind`.
    var ahead: String { self < .zero ? "\(magnitude.rounded) behind" : "\(rounded) ahead of" }
}

extension Timestamp {
    func midpoint(to other: Timestamp) -> Timestamp {
        advanced(by: duration(to: other) / 2)
    }
}
