// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The curves of Apple's elliptic keys (RFC 5480 §2.1.1.1).
enum EllipticCurve: Hashable, Sendable {
    /// secp256r1: the signers of transactions.
    case p256
    /// secp384r1: Apple Root CA - G3 and the intermediate below it.
    case p384

    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.secp256r1) {
            self = .p256
        } else if identifier.equals(ObjectIdentifier.secp384r1) {
            self = .p384
        } else {
            return nil
        }
    }

    /// The length in bytes of a point's coordinate and of a signature's number.
    var byteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        }
    }
}
