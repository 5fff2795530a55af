// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension Duration {
    /// For people: `0.14 ms`, `23 ms`, `1.7 s`.
    var rounded: String {
        let milliseconds = Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
        switch abs(milliseconds) {
        case ..<1: return "\((milliseconds * 100).rounded() / 100) ms"
        case ..<1000: return "\(Int(milliseconds.rounded())) ms"
        default: return "\((milliseconds / 100).rounded() / 10) s"
        }
    }

    /// Of a clock, before the name of another: `3.0 s ahead of`, `12.5 s behind`.
    var ahead: String { self < .zero ? "\((.zero - self).rounded) behind" : "\(rounded) ahead of" }
}

/// A span without its direction.
func abs(_ span: Duration) -> Duration { span < .zero ? .zero - span : span }

extension Timestamp {
    /// The time from here to another point; negative if that lies before.
    func until(_ other: Timestamp) -> Duration {
        .milliseconds(other.millisecondsSince1970 - millisecondsSince1970)
    }

    /// The middle between two points.
    func midpoint(to other: Timestamp) -> Timestamp {
        advanced(by: until(other) / 2)
    }
}
