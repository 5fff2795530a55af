// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A seeded generator, so that a failing sequence can be repeated.
///
/// The algorithm is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(number(range)) }
}
