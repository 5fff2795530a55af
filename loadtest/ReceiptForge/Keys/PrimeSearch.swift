// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Finds primes for RSA with a seeded generator, so that the same seed gives the same key.
struct PrimeSearch {
    /// The size of each prime in bits, a multiple of 8.
    let bits: Int
    let publicExponent: BigNumber

    private let one = BigNumber(1)
    private let two = BigNumber(2)

    init(bits: Int, publicExponent: BigNumber) {
        self.bits = bits
        self.publicExponent = publicExponent
    }

    /// Returns the first suitable prime at or above a random start. Stepping by two costs one addition per candidate.
    func prime(using generator: inout SplitMix64) -> BigNumber {
        var candidate = start(using: &generator)
        while !isSuitable(candidate) {
            candidate = candidate.adding(two)
        }
        return candidate
    }

    /// Returns a random odd number with the two top bits set: the product of two such numbers has exactly twice their
    /// bits.
    private func start(using generator: inout SplitMix64) -> BigNumber {
        var bytes = generator.bytes(count: bits / 8)
        bytes[0] |= 0xC0
        bytes[bytes.count - 1] |= 0x01
        return BigNumber(bytes)
    }

    /// Returns true for a prime p with p - 1 coprime to the public exponent, so that it has an inverse (RFC 8017 §3.1).
    private func isSuitable(_ candidate: BigNumber) -> Bool {
        candidate.isPrime && candidate.subtracting(one).greatestCommonDivisor(with: publicExponent).isOne
    }
}
