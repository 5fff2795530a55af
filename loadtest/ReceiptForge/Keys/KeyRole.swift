// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a key is for. Each role has a random stream of its own, so keys can be made in any order.
enum KeyRole: String, Sendable, Hashable, CaseIterable {
    case root, intermediate, leaf
    /// Keys that the trusted root never vouched for.
    case attackerRoot, attackerIntermediate, attackerLeaf
    /// A leaf key below the smallest size that is still safe.
    case shortLeaf
    /// A leaf key with the exponent that made signature forgery practical (Bleichenbacher, CRYPTO 2006 rump session).
    case smallExponentLeaf
    case xcode
    /// Servers of tests, and the authority that vouches for them.
    case tlsAuthority, tlsServer

    /// Size of the modulus.
    var bits: Int {
        self == .shortLeaf ? 1024 : 2048
    }

    var publicExponent: UInt64 {
        self == .smallExponentLeaf ? 3 : 65_537
    }
}
