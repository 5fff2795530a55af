// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An OBJECT IDENTIFIER: its arcs (X.660), encoded by X.690 §8.19.
struct ObjectIdentifier: Sendable, Hashable, ExpressibleByArrayLiteral {
    let arcs: [UInt64]

    init(arrayLiteral arcs: UInt64...) {
        self.arcs = arcs
    }

    var element: DERElement {
        // X.690 §8.19.4: the first two arcs share one subidentifier, 40 · first + second.
        let subidentifiers = [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)
        return DERElement(.objectIdentifier, subidentifiers.flatMap(Self.base128))
    }

    /// Encodes seven bits per byte, most significant first; bit 8 marks all bytes but the last.
    private static func base128(_ value: UInt64) -> [UInt8] {
        var bytes = [UInt8(value & 0x7F)]
        var rest = value >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }
}
