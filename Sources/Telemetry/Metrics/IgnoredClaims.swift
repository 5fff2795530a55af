// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Receipts
internal import Synchronization

extension IgnorableClaim: SeriesLabels {
    package static var labelNames: [String] { ["claim"] }
}

/// Counts and reports the signed claims that have a form that is not read.
package final class IgnoredClaims: Sendable {
    private let counters: [IgnorableClaim: PrometheusCounter]
    private let reported = Mutex(ReportedSubjects())
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp

    package init(_ registry: PrometheusRegistry, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        counters = registry.counters(MetricCatalogue.ignoredClaims)
        (self.logger, self.clock) = (logger, clock)
    }

    /// Counts a claim, and logs it once an hour.
    /// - Parameter claim: the name of an `IgnorableClaim`.
    package func saw(_ claim: String) {
        if let claim = IgnorableClaim(rawValue: claim) { counters[claim]?.increment() }
        let now = clock()
        guard reported.withLock({ $0.insert(claim, at: now) }) else { return }
        logger.warning(
            "A signed claim has a form that is not read, and is left out of answers",
            metadata: ["claim": "\(claim)"])
    }
}
