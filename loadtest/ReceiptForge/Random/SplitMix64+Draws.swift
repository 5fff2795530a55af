// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Draws that avoid the standard library: its mapping from bits to numbers may change between Swift versions, and would
/// change every forged receipt with it.
extension SplitMix64 {
    /// Returns a number in `range`. The modulo bias is below 2⁻³² for the ranges used here.
    mutating func number(in range: ClosedRange<Int64>) -> Int64 {
        let width = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int64(next() % width)
    }

    /// Returns true in `percent` of one hundred draws.
    mutating func chance(percent: Int64) -> Bool {
        number(in: 1...100) <= percent
    }

    mutating func element<Element>(of elements: [Element]) -> Element {
        elements[Int(number(in: 0...Int64(elements.count - 1)))]
    }

    mutating func bytes(count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 56) }
    }
}
