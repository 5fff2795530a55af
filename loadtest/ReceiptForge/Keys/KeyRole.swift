// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The purpose of a key. Each has its own random stream, so keys can be made in any order.
enum KeyRole: String, Sendable, Hashable, CaseIterable {
    case root, intermediate, leaf
    /// Keys that the trusted root never certified.
    case attackerRoot, attackerIntermediate, attackerLeaf
    /// A leaf key below the smallest safe size.
    case shortLeaf
    /// A leaf key with the exponent that made signature forgery practical (Bleichenbacher, CRYPTO 2006 rump session).
    case smallExponentLeaf
    case xcode
    /// Test servers, and the authority that certifies them.
    case tlsAuthority, tlsServer

    /// The size of the modulus.
    var bits: Int {
        self == .shortLeaf ? 1024 : 2048
    }

    var publicExponent: UInt64 {
        self == .smallExponentLeaf ? 3 : 65_537
    }
}
