// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Creates each key once, on first use: finding primes is by far the slowest part of forging.
final class KeyRing: Sendable {
    private let seed: UInt64
    private let keys = Mutex<[KeyRole: RSAPrivateKey]>([:])

    init(seed: UInt64) {
        self.seed = seed
    }

    func key(for role: KeyRole) -> RSAPrivateKey {
        keys.withLock { keys in
            if let key = keys[role] { return key }
            let key = makeKey(for: role)
            keys[role] = key
            return key
        }
    }

    private func makeKey(for role: KeyRole) -> RSAPrivateKey {
        var generator = SplitMix64(seed: seed, purpose: "key " + role.rawValue)
        return RSAPrivateKey(
            .generate(bits: role.bits, publicExponent: role.publicExponent, using: &generator))
    }
}
