// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The purpose of a key. Each has its own random stream, so keys can be made in any order.
enum KeyRole: String, Sendable, Hashable {
    case root, intermediate, leaf
    /// Keys that the trusted root never certified.
    case attackerRoot, attackerIntermediate, attackerLeaf
    /// A leaf key below the smallest safe size.
    case shortLeaf
    /// A leaf key with the exponent that made signature forgery practical (Bleichenbacher, CRYPTO 2006 rump session).
    case smallExponentLeaf
    case xcode
    /// The signer of transaction receipts of version 2, with 1024 bits, and its issuer.
    case storeLeaf, storeIntermediate
    /// Test servers, and the authority that certifies them.
    case tlsAuthority, tlsServer
}

extension KeyRole {
    fileprivate var bits: Int {
        switch self {
        case .shortLeaf, .storeLeaf: 1024
        default: 2048
        }
    }
}

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
            var generator = SplitMix64(seed: seed, purpose: "key " + role.rawValue)
            let key = RSAPrivateKey(
                bits: role.bits, publicExponent: role == .smallExponentLeaf ? 3 : 65_537, using: &generator)
            keys[role] = key
            return key
        }
    }
}
