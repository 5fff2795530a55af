// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The curves of Apple's elliptic keys (RFC 5480 §2.1.1.1).
enum EllipticCurve: Hashable, Sendable {
    /// secp256r1: the signers of transactions.
    case p256
    /// secp384r1: Apple Root CA - G3 and the intermediate below it.
    case p384

    /// The curve of this name; nil for any other.
    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.secp256r1) {
            self = .p256
        } else if identifier.equals(ObjectIdentifier.secp384r1) {
            self = .p384
        } else {
            return nil
        }
    }

    /// The bytes of one coordinate of a point, and of one number of a signature.
    var byteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        }
    }
}
