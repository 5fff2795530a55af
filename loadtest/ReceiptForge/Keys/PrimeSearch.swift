// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Finds primes for RSA from a seeded generator, so that the same seed gives the same key.
struct PrimeSearch {
    /// Size of each prime in bits; a multiple of 8.
    let bits: Int
    let publicExponent: BigNumber

    private let one = BigNumber(1)
    private let two = BigNumber(2)

    init(bits: Int, publicExponent: BigNumber) {
        self.bits = bits
        self.publicExponent = publicExponent
    }

    /// The first suitable prime at or above a random start. Stepping by two costs one addition per candidate.
    func prime(using generator: inout SplitMix64) -> BigNumber {
        var candidate = start(using: &generator)
        while !isSuitable(candidate) {
            candidate = candidate.adding(two)
        }
        return candidate
    }

    /// The two top bits are set so that the product of two primes has exactly twice their bits; the last so it is odd.
    private func start(using generator: inout SplitMix64) -> BigNumber {
        var bytes = generator.bytes(count: bits / 8)
        bytes[0] |= 0xC0
        bytes[bytes.count - 1] |= 0x01
        return BigNumber(bytes)
    }

    /// RFC 8017 §3.1: the public exponent must be coprime to p - 1, or it has no inverse.
    private func isSuitable(_ candidate: BigNumber) -> Bool {
        candidate.isPrime && candidate.subtracting(one).greatestCommonDivisor(with: publicExponent).isOne
    }
}
