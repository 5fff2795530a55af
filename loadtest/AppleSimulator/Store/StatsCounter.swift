// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// Counts what happens.
final class StatsCounter: Sendable {
    private struct Counts {
        var stats = Stats()
        var details = StatsDetails()
        var receipts: Set<Fingerprint> = []
    }

    private let counts = Mutex(Counts())
    private let maximumDistinctReceipts: Int

    init(maximumDistinctReceipts: Int) {
        self.maximumDistinctReceipts = maximumDistinctReceipts
    }

    var stats: Stats { counts.withLock { $0.stats } }
    var details: StatsDetails { counts.withLock { $0.details } }

    /// A call of verifyReceipt arrived; what will become of it is known.
    func begin(at endpoint: Endpoint, _ receipt: Fingerprint?, outcome: String) {
        counts.withLock { counts in
            endpoint == .production ? (counts.stats.production += 1) : (counts.stats.sandbox += 1)
            counts.details.outcomes[endpoint.rawValue, default: [:]][outcome, default: 0] += 1
            counts.details.inFlight += 1
            counts.details.maximumInFlight = max(counts.details.maximumInFlight, counts.details.inFlight)
            guard let receipt, counts.receipts.count < maximumDistinctReceipts else { return }
            counts.receipts.insert(receipt)
            counts.stats.distinctReceipts = counts.receipts.count
        }
    }

    /// A call has its answer, or will never get it.
    func end() {
        counts.withLock { $0.details.inFlight -= 1 }
    }

    /// A connection was opened; `showsWrongCertificate` if it got a certificate that does not verify.
    func open(showsWrongCertificate: Bool) {
        counts.withLock { counts in
            counts.details.connections += 1
            counts.details.openConnections += 1
            if showsWrongCertificate { counts.details.wrongCertificates += 1 }
        }
    }

    /// A connection was closed.
    func close() {
        counts.withLock { $0.details.openConnections -= 1 }
    }

    /// Begins anew; what is in flight and what is open stays so.
    func reset() {
        counts.withLock { counts in
            let details = counts.details
            counts = Counts()
            counts.details.inFlight = details.inFlight
            counts.details.maximumInFlight = details.inFlight
            counts.details.openConnections = details.openConnections
        }
    }
}
