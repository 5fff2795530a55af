// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Remembers verified chains, because Apple's change about once a year and verifying one costs ten receipts.
///
/// A chain is found by the certificates' bytes and the signer's name; nothing else went into verifying it. Only success
/// is remembered, and nothing but the chain may stand in the list, so nobody without Apple's keys can add entries
/// beyond the few orders in which the same certificates can stand.
final class ChainCache: Sendable {
    private struct Entry: Sendable {
        /// One by one: the same bytes cut elsewhere are other certificates.
        let certificates: [[UInt8]]
        let signer: [UInt8]
        let chain: CertificateChain
    }

    private let entries = Mutex<[Entry]>([])
    private let capacity: Int

    init(capacity: Int = 64) {
        self.capacity = capacity
    }

    /// The chain of the signer, if it was verified before.
    @inline(__always)
    func chain(of certificates: borrowing SignerCertificates) -> CertificateChain? {
        // The array is copied out, so that comparing happens outside the lock.
        let entries = entries.withLock { $0 }
        for entry in entries
        where certificates.bytes.equals(certificates.signer.name, entry.signer)
            && certificates.equal(entry.certificates)
        {
            return entry.chain
        }
        return nil
    }

    /// Remembers a chain, in place of the oldest one when full.
    /// - Returns: whether it was not known.
    @discardableResult
    func insert(_ chain: CertificateChain, of certificates: borrowing SignerCertificates) -> Bool {
        let entry = Entry(
            certificates: certificates.copies, signer: certificates.bytes.copy(certificates.signer.name), chain: chain)
        return entries.withLock { entries in
            // Threads that met the same new chain at the same time have all verified it.
            guard !entries.contains(where: { $0.signer == entry.signer && $0.certificates == entry.certificates })
            else { return false }
            if entries.count == capacity { entries.removeFirst() }
            entries.append(entry)
            return true
        }
    }
}

extension SignerCertificates {
    /// Returns whether these are the certificates, in this order.
    @inline(__always)
    fileprivate func equal(_ others: [[UInt8]]) -> Bool {
        guard encodings.count == others.count else { return false }
        for index in encodings.indices where !bytes.equals(encodings[index], others[index]) { return false }
        return true
    }

    fileprivate var copies: [[UInt8]] {
        var copies: [[UInt8]] = []
        for encoding in encodings { copies.append(bytes.copy(encoding)) }
        return copies
    }
}
