// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A small seeded generator: the same seed gives the same sequence in every process.
///
/// The algorithm is SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
/// It is **not** cryptographic: whoever knows the seed knows every key made from it, which is what a test PKI wants.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator at the start of the sequence that belongs to `seed`.
    public init(seed: UInt64) {
        state = seed
    }

    /// A generator of its own for one purpose, so that what is made first does not change what is made later.
    public init(seed: UInt64, purpose: String) {
        var mixer = SplitMix64(seed: seed)
        state = purpose.utf8.reduce(mixer.next()) { hash, byte in
            // FNV-1a, 64 bits: stable across processes, which `Hasher` is not.
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
