// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A small seeded generator: the same seed gives the same sequence in every process.
///
/// The algorithm is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). It
/// is **not** cryptographic: the seed reveals every key made from it, as a test PKI requires.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator at the start of the sequence of `seed`.
    package init(seed: UInt64) {
        state = seed
    }

    /// Creates an independent generator for one purpose, so that the order of use does not matter.
    package init(seed: UInt64, purpose: String) {
        var mixer = SplitMix64(seed: seed)
        state = purpose.utf8.reduce(mixer.next()) { hash, byte in
            // FNV-1a, 64 bits: stable across processes, which `Hasher` is not.
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Draws that avoid the standard library: its mapping from bits to numbers may change between Swift versions, and would
/// change every forged receipt with it.
extension SplitMix64 {
    /// Returns a number in `range`. The modulo bias is below 2⁻³² for the ranges used here.
    mutating func number(in range: ClosedRange<Int64>) -> Int64 {
        let width = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int64(next() % width)
    }

    /// Returns a number from 0 to below 1, of 53 random bits.
    package mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
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

/// UUIDs as text.
enum UUIDText {
    /// Returns a UUID of these bits, apart from the bits that name its version and variant (RFC 9562 §4).
    static func version4(_ high: UInt64, _ low: UInt64) -> String {
        let words = [high & ~0xF000 | 0x4000, low & ~(0b11 << 62) | 0b10 << 62]
        return grouped { digit in UInt8(words[digit / 16] >> UInt64(60 - digit % 16 * 4) & 15) }
    }

    /// Returns a UUID of digits from 0 to 15, which are made in their order.
    static func grouped(_ digit: (Int) -> UInt8) -> String {
        (0..<16).map { digit(2 * $0) << 4 | digit(2 * $0 + 1) }.uuidText
    }
}
