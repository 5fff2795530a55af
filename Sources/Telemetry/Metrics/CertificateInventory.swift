// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Receipts
internal import Synchronization

package enum DependedCertificate: String, SeriesLabels {
    /// The trust anchor for an environment of Apple's that ends first, of the configured anchors and of Apple's that
    /// genuine receipts carried.
    case trustRoot = "trust_root"
    /// The newest intermediate seen in Apple's receipts.
    case intermediate
    /// The newest signer seen in Apple's receipts.
    case signer
    case redisClient = "redis_client"
    /// The certificate of the data plane, and of the admin plane.
    case httpServer = "http_server"
    case adminServer = "admin_server"

    package static let labelNames = ["certificate"]
}

/// Stores when certificates end, and counts unknown intermediates.
package final class CertificateInventory: Sendable {
    fileprivate struct State {
        var ends: [DependedCertificate: Timestamp] = [:]
        /// The ends of the trusted roots; nil while unknown.
        var roots = TrustStore.apple.ends(or: [:])
        /// The chains of Apple's with an unknown intermediate. Each is new again after a reload of the trusted roots.
        var unknown: Set<VerifiedChainInfo> = []

        mutating func saw(_ certificate: DependedCertificate, until end: Timestamp?) {
            guard let end else { return }
            ends[certificate] = max(end, ends[certificate] ?? end)
        }
    }

    private let state = Mutex(State())
    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    func end(of certificate: DependedCertificate) -> Timestamp? {
        state.withLock { state in
            certificate == .trustRoot ? state.roots.values.compactMap(\.self).min() : state.ends[certificate]
        }
    }

    var unknownIntermediates: Int { state.withLock { $0.unknown.count } }

    /// Records the roots that are trusted from now on. A root for local tests does not count: Xcode's end after a year, and
    /// no customer needs them.
    package func trust(_ store: TrustStore) {
        state.withLock { $0.roots = store.ends(or: $0.roots) }
    }

    /// Records a configured certificate; the first to end counts.
    package func configured(_ certificate: DependedCertificate, until end: Timestamp?) {
        guard let end else { return }
        state.withLock { $0.ends[certificate] = min(end, $0.ends[certificate] ?? end) }
    }

    /// Records a certificate that replaces the one before.
    package func serves(_ certificate: DependedCertificate, until end: Timestamp?) {
        state.withLock { $0.ends[certificate] = end }
    }

    /// Records a chain that was verified for the first time. Apple's newest signer and intermediate count: old receipts
    /// carry certificates that ended years ago.
    package func saw(_ chain: VerifiedChainInfo) {
        let isNews = state.withLock { state in
            // Not for a request that began before the root was removed.
            if state.roots.keys.contains(chain.anchor.fingerprint) {
                state.roots.updateValue(chain.anchor.notAfter, forKey: chain.anchor.fingerprint)
            }
            guard chain.isApples else { return false }
            state.saw(.signer, until: chain.belowAnchor.first?.notAfter)
            state.saw(.intermediate, until: chain.intermediates.map(\.notAfter).min())
            return chain.hasUnknownIntermediate && state.unknown.insert(chain).inserted
        }
        guard isNews else { return }
        logger.warning(
            "A genuine chain has an intermediate certificate unknown to this version",
            metadata: ["sha256": .array(chain.intermediates.map { "\($0.fingerprint)" })])
    }

    package var readings: [MetricReading] {
        DependedCertificate.allCases.map { certificate in
            MetricReading(MetricCatalogue.certificateExpiry, certificate.labelValues) {
                self.end(of: certificate)?.seconds ?? 0
            }
        } + [MetricReading(MetricCatalogue.unknownIntermediates) { Double(self.unknownIntermediates) }]
    }
}

extension TrustStore {
    /// Returns the end of each root.
    /// - Parameter known: the ends of roots whose certificates the store does not have.
    fileprivate func ends(or known: [Fingerprint: Timestamp?]) -> [Fingerprint: Timestamp?] {
        let roots = anchors.filter { !$0.isForLocalTests }
        return Dictionary(
            roots.map { ($0.fingerprint, $0.expires ?? known[$0.fingerprint] ?? nil) }, uniquingKeysWith: { $1 })
    }
}
