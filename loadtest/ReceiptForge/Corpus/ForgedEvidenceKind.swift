// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The kinds of evidence that a client or Apple can send.
package enum ForgedEvidenceKind: String, CaseIterable, Encodable, Sendable {
    case receipt, jws
    case transactionReceipt = "transaction-receipt"
    /// A server notification of version 2: a JWS with further JWS inside.
    case notification

    /// True for a JWS, which is text.
    package var isJWS: Bool { self == .jws || self == .notification }
}
