// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Caches the keys of verified certificates, by certificate and issuer.
///
/// A certificate's signature does not change, so it is verified once; everything else about a path is checked each
/// time. The issuer is part of the key: otherwise a leaf issued by a test root would be trusted below another root's
/// intermediate of the same name. Only successes are cached, and only a trusted authority can issue such certificates,
/// so the number of entries follows Apple's rotations.
final class VerifiedCertificates: Sendable {
    private struct Link: Hashable, Sendable {
        let certificate: Fingerprint
        let issuer: Fingerprint
    }

    private let keys = Mutex<[Link: PublicKey]>([:])
    private static let capacity = 256

    /// Returns the key of a certificate below `issuer`; calls `verify` if it is not cached.
    func key(
        of certificate: Fingerprint, below issuer: Fingerprint, verify: () throws(ReceiptError) -> PublicKey
    ) throws(ReceiptError) -> PublicKey {
        let link = Link(certificate: certificate, issuer: issuer)
        if let known = keys.withLock({ $0[link] }) { return known }
        let key = try verify()
        keys.withLock { keys in
            if keys.count >= Self.capacity { keys.removeAll() }
            keys[link] = key
        }
        return key
    }
}
