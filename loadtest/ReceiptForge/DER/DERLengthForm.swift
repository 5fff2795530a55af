// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The form of an element's length (X.690 §8.1.3). DER allows only `minimal` (§10.1).
enum DERLengthForm: Sendable, Hashable {
    /// As few bytes as the length needs.
    case minimal
    /// The long form with this many bytes after the first one, padded with leading zeros.
    case long(bytes: Int)
    /// `80`, and two zero bytes after the contents.
    case indefinite

    func lengthBytes(for count: Int) -> [UInt8] {
        switch self {
        case .minimal where count < 0x80: [UInt8(count)]
        case .minimal: Self.longForm(count, bytes: Self.significantBytes(of: count))
        case .long(let bytes): Self.longForm(count, bytes: bytes)
        case .indefinite: [0x80]
        }
    }

    private static func longForm(_ count: Int, bytes: Int) -> [UInt8] {
        let digits = (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        return [0x80 | UInt8(bytes)] + digits
    }

    private static func significantBytes(of count: Int) -> Int {
        (count.bitWidth - count.leadingZeroBitCount + 7) / 8
    }
}
