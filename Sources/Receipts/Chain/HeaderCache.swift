// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Caches verified chains by the text of the JWS header they came in: Apple's headers change about once in two years,
/// and verifying a chain costs as much as twenty transactions.
///
/// A header is added only after a signature over it was verified, so that only holders of a trusted key can add one.
package final class HeaderCache: Sendable {
    private struct Entry: Sendable {
        let header: [UInt8]
        let chain: CertificateChain
    }

    private let entries = Mutex<[Entry]>([])
    private let capacity: Int

    init(capacity: Int = 64) {
        self.capacity = capacity
    }

    package func chain(of header: Span<UInt8>) -> CertificateChain? {
        // Copied out, so that comparing happens outside the lock.
        let entries = entries.withLock { $0 }
        for entry in entries where header.equals(entry.header) { return entry.chain }
        return nil
    }

    /// Caches a chain, replacing the oldest one if full.
    /// - Returns: true if no other header had brought the same chain.
    package func insert(_ chain: CertificateChain, of header: Span<UInt8>) -> Bool {
        let entry = Entry(header: header.copy(0..<header.count), chain: chain)
        return entries.withLock { entries in
            // Several threads may have verified the same new header at the same time.
            guard !entries.contains(where: { $0.header == entry.header }) else { return false }
            let isNew = !entries.contains { $0.chain.info == chain.info }
            if entries.count == capacity { entries.removeFirst() }
            entries.append(entry)
            return isNew
        }
    }
}
