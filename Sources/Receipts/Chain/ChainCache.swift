// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Caches verified chains: Apple's chains change about once a year, and verifying a chain costs as much as ten
/// receipts.
///
/// The key is the certificates' bytes and the signer's name; verification depends on nothing else. The text that
/// certificates came in is such a key too: a JWS header, or base64. Only successes are cached, so without Apple's keys an
/// attacker can add only the few orders of one chain's certificates; texts are added once a signature below them holds.
final class ChainCache: Sendable {
    private struct Entry: Sendable {
        /// Separate arrays: the same bytes split elsewhere are other certificates.
        let certificates: [[UInt8]]
        let signer: [UInt8]
        let chain: CertificateChain
    }

    private let entries = Mutex<[Entry]>([])
    private static let capacity = 64

    @inline(__always)
    func chain(of certificates: borrowing SignerCertificates) -> CertificateChain? {
        // Copied out, so that comparing happens outside the lock.
        let entries = entries.withLock { $0 }
        for entry in entries
        where certificates.bytes.equals(certificates.signer.name, entry.signer)
            && certificates.equal(entry.certificates)
        {
            return entry.chain
        }
        return nil
    }

    /// Caches a chain, replacing the oldest one if full.
    /// - Returns: true if no other certificates had the same chain.
    @discardableResult
    func insert(_ chain: CertificateChain, of certificates: borrowing SignerCertificates) -> Bool {
        let entry = Entry(
            certificates: certificates.copies, signer: certificates.bytes.copy(certificates.signer.name), chain: chain)
        return entries.withLock { entries in
            // Several threads may have verified the same new chain at the same time.
            guard !entries.contains(where: { $0.signer == entry.signer && $0.certificates == entry.certificates })
            else { return false }
            let isNew = !entries.contains { $0.chain.info == chain.info }
            if entries.count == Self.capacity { entries.removeFirst() }
            entries.append(entry)
            return isNew
        }
    }
}

extension SignerCertificates {
    @inline(__always)
    fileprivate func equal(_ others: [[UInt8]]) -> Bool {
        guard encodings.count == others.count else { return false }
        for index in encodings.indices where !bytes.equals(encodings[index], others[index]) { return false }
        return true
    }

    fileprivate var copies: [[UInt8]] { encodings.map { bytes.copy($0) } }
}

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
