// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import PrometheusExport
package import Receipts
internal import Synchronization

/// The certificates that the gateway depends on.
package enum DependedCertificate: String, SeriesLabels {
    /// Whose end is a trust anchor's: the first of those that are configured, or that genuine receipts carried.
    case trustRoot = "trust_root"
    /// The newest under which Apple signs receipts, of those that were seen.
    case intermediate
    /// The newest that signed a receipt, of those that were seen.
    case signer
    /// Ours, for Redis.
    case redisClient = "redis_client"

    package static let labelNames = ["certificate"]
}

/// Knows when certificates end, and counts those that are news.
package final class CertificateInventory: Sendable {
    fileprivate struct State {
        var ends: [DependedCertificate: Timestamp] = [:]
        var unknownIntermediates = 0
    }

    private let state = Mutex(State())
    private let logger: Logger

    /// Knows nothing yet.
    /// - Parameter logger: where it is said which intermediate is unknown.
    package init(logger: Logger) {
        self.logger = logger
    }

    /// When the certificate ends; nil if there is none, or none was seen.
    func end(of certificate: DependedCertificate) -> Timestamp? { state.withLock { $0.ends[certificate] } }

    /// Chains with an intermediate that is news.
    var unknownIntermediates: Int { state.withLock { $0.unknownIntermediates } }

    /// One that is configured; the first to end counts.
    package func configured(_ certificate: DependedCertificate, until end: Timestamp?) {
        guard let end else { return }
        state.withLock { $0.ends[certificate] = min(end, $0.ends[certificate] ?? end) }
    }

    /// A chain was verified for the first time. Of those that Apple signs with, the newest counts: receipts of years ago
    /// carry certificates that ended years ago.
    package func saw(_ chain: VerifiedChainInfo) {
        configured(.trustRoot, until: chain.anchor.notAfter)
        guard chain.isApples else { return }
        state.withLock { state in
            state.saw(.signer, until: chain.belowAnchor.first?.notAfter)
            state.saw(.intermediate, until: chain.intermediates.map(\.notAfter).min())
            if chain.hasUnknownIntermediate { state.unknownIntermediates += 1 }
        }
        guard chain.hasUnknownIntermediate else { return }
        logger.warning(
            "A genuine chain has an intermediate certificate that this version does not know",
            metadata: ["sha256": .array(chain.intermediates.map { "\($0.fingerprint)" })])
    }

    /// What is read at each scrape.
    package var readings: [MetricReading] {
        DependedCertificate.allCases.map { certificate in
            MetricReading(MetricCatalogue.certificateExpiry, certificate.labelValues) {
                self.end(of: certificate)?.seconds ?? 0
            }
        } + [MetricReading(MetricCatalogue.unknownIntermediates) { Double(self.unknownIntermediates) }]
    }
}

extension CertificateInventory.State {
    fileprivate mutating func saw(_ certificate: DependedCertificate, until end: Timestamp?) {
        guard let end else { return }
        ends[certificate] = max(end, ends[certificate] ?? end)
    }
}
