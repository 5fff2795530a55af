// SPDX-License-Identifier: Apache-2.0

/// Random numbers that need no system call, which Swift's own generator makes for each: SplitMix64 (Steele, Lea and Flood:
/// Fast Splittable Pseudorandom Number Generators, 2014). They are no secrets: the next can be computed from enough of them.
package struct SplitMixNumbers: Sendable {
    private let start: UInt64

    package init(from start: UInt64 = .random(in: .min ... .max)) { self.start = start }

    /// Returns the number at a place of the sequence. Different places have different numbers.
    package func number(at place: UInt64) -> UInt64 {
        var number = start &+ place &* 0x9E37_79B9_7F4A_7C15
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
    }
}
