// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Remembers verified chains, because Apple's change about once a year and verifying one costs ten receipts.
///
/// A chain is found by the certificates' bytes and the signer's name; nothing else went into verifying it. Only success
/// is remembered, and containers may hold nothing but their chain, so nobody without Apple's keys can add entries
/// beyond the few orders in which the same certificates can stand.
final class ChainCache: Sendable {
    private struct Entry: Sendable {
        let certificateSet: [UInt8]
        let signer: [UInt8]
        let chain: CertificateChain
    }

    private let entries = Mutex<[Entry]>([])
    private let capacity: Int

    init(capacity: Int = 64) {
        self.capacity = capacity
    }

    /// The chain of the container's signer, if it was verified before.
    @inline(__always)
    func chain(of container: SignedData, in receipt: Span<UInt8>) -> CertificateChain? {
        // The array is copied out, so that comparing happens outside the lock.
        let entries = entries.withLock { $0 }
        for entry in entries
        where receipt.equals(container.signer.name, entry.signer)
            && receipt.equals(container.certificateSet, entry.certificateSet)
        {
            return entry.chain
        }
        return nil
    }

    /// Remembers a chain, in place of the oldest one when full.
    /// - Returns: whether it was not known.
    @discardableResult
    func insert(_ chain: CertificateChain, of container: SignedData, in receipt: Span<UInt8>) -> Bool {
        let entry = Entry(
            certificateSet: receipt.copy(container.certificateSet), signer: receipt.copy(container.signer.name),
            chain: chain)
        return entries.withLock { entries in
            // Threads that met the same new chain at the same time have all verified it.
            guard !entries.contains(where: { $0.signer == entry.signer && $0.certificateSet == entry.certificateSet })
            else { return false }
            if entries.count == capacity { entries.removeFirst() }
            entries.append(entry)
            return true
        }
    }
}

extension SignerInfo {
    /// Issuer and serial number, as they stand side by side.
    fileprivate var name: Range<Int> { issuer.lowerBound..<serialNumber.upperBound }
}
