// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Remembers the keys of certificates whose signature was verified, by the certificate and the one it was verified under.
///
/// A certificate's signature does not change, so verifying it once is enough; everything else about a path is checked
/// each time. The issuer belongs to the name of what is remembered: otherwise a leaf that a test root vouches for would
/// be believed below another root's intermediate of the same name. Only success is remembered, and only an authority we
/// trust can make another certificate that succeeds, so the number of entries follows Apple's rotations.
final class VerifiedCertificates: Sendable {
    private struct Link: Hashable, Sendable {
        let certificate: Fingerprint
        let issuer: Fingerprint
    }

    private let keys = Mutex<[Link: PublicKey]>([:])
    private static let capacity = 256

    /// The key of a certificate below `issuer`; `verify` finds it out if it was not verified before.
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
