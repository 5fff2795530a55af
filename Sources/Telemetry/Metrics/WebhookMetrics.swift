// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Logging
package import Receipts
internal import Synchronization

/// Counts the deliveries of webhooks, and logs the events that need an operator.
package final class WebhookMetrics: Sendable {
    private let counts: WebhookCounts
    private let deliverySeconds: PrometheusHistogram
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let reported = Mutex(ReportedSubjects())

    /// - Parameter counts: the source of the series by endpoint in the registry.
    package init(
        _ registry: PrometheusRegistry, counts: WebhookCounts, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.counts = counts
        deliverySeconds = registry.histogram(MetricCatalogue.webhookDeliverySeconds)
        self.logger = logger
        self.clock = clock
    }

    package func observe(_ event: WebhookEvent) {
        counts.count(event, at: clock())
        switch event {
        case .delivered(_, let after, _): deliverySeconds.record(after / .seconds(1))
        case .failed: break
        case .dead(let endpoint, let fault):
            report(
                "dead", endpoint, ["reason": "\(fault.rawValue)"],
                "A webhook failed at all attempts, and its event was moved to the dead events. Redeliver it with "
                    + "receipt-gateway events redeliver")
        case .disabled(let endpoint):
            report(
                "disabled", endpoint, [:],
                "A webhook endpoint answered 410 Gone, and gets no more events. Remove it from the clients file, or "
                    + "enable it with receipt-gateway events endpoints --enable")
        case .missed(let endpoint, let count):
            report(
                "missed", endpoint, ["count": "\(count.map { String($0) } ?? "unknown")"],
                "Events are missing in the log, and are not delivered: they were removed because the endpoint was too slow "
                    + "(gateway.events.max_count, gateway.events.max_age), or Redis lost them")
        }
    }

    /// The last attempts of this node, by endpoint.
    package var lastAttempts: [String: LastAttempts] { counts.lastAttempts }

    /// Logs a warning, once an hour for each subject and endpoint.
    private func report(_ subject: String, _ endpoint: String, _ metadata: Logger.Metadata, _ text: String) {
        let now = clock()
        guard reported.withLock({ $0.insert("\(subject) \(endpoint)", at: now) }) else { return }
        logger.warning("\(text)", metadata: metadata.merging(["endpoint": "\(endpoint)"]) { first, _ in first })
    }
}

/// The counts of deliveries by endpoint, which each scrape reads.
package final class WebhookCounts: Sendable {
    private enum Outcome: String, CaseIterable {
        case delivered, failed, dead
    }

    private struct EndpointCounts {
        var outcomes: [Outcome: UInt64] = [:]
        var failures: [DeliveryFault: UInt64] = [:]
        var missed: UInt64 = 0
        var last = LastAttempts()
    }

    private let endpoints: @Sendable () -> Set<String>
    private let counts = Mutex<[String: EndpointCounts]>([:])

    /// - Parameter endpoints: returns the names of the current endpoints; the counts of removed endpoints are
    ///   forgotten.
    package init(endpoints: @escaping @Sendable () -> Set<String>) {
        self.endpoints = endpoints
    }

    fileprivate func count(_ event: WebhookEvent, at now: Timestamp) {
        switch event {
        case .delivered(let endpoint, _, _):
            update(endpoint) { counts in
                counts.outcomes[.delivered, default: 0] += 1
                counts.last.deliveredAt = now
            }
        case .failed(let endpoint, let fault):
            update(endpoint) { counts in
                counts.outcomes[.failed, default: 0] += 1
                counts.failures[fault, default: 0] += 1
                (counts.last.fault, counts.last.failedAt) = (fault, now)
            }
        case .dead(let endpoint, _): update(endpoint) { $0.outcomes[.dead, default: 0] += 1 }
        case .disabled: break
        case .missed(let endpoint, let count):
            update(endpoint) { counts in
                // An unknown number is at least one.
                let (sum, overflows) = counts.missed.addingReportingOverflow(count ?? 1)
                counts.missed = overflows ? .max : sum
                counts.last.missedAt = now
            }
        }
    }

    private func update(_ endpoint: String, _ change: (inout EndpointCounts) -> Void) {
        let current = endpoints()
        counts.withLock { counts in
            counts = counts.filter { current.contains($0.key) }
            guard current.contains(endpoint) else { return }
            change(&counts[endpoint, default: EndpointCounts()])
        }
    }

    fileprivate var lastAttempts: [String: LastAttempts] {
        let current = endpoints()
        return counts.withLock { $0.filter { current.contains($0.key) }.mapValues(\.last) }
    }

    package var series: [SeriesReading] {
        [
            SeriesReading(MetricCatalogue.webhookDeliveries) {
                self.values { endpoint, counts in
                    Outcome.allCases.map { ([endpoint, $0.rawValue], counts.outcomes[$0] ?? 0) }
                }
            },
            SeriesReading(MetricCatalogue.webhookFailures) {
                self.values { endpoint, counts in
                    DeliveryFault.allCases.map { ([endpoint, $0.rawValue], counts.failures[$0] ?? 0) }
                }
            },
            SeriesReading(MetricCatalogue.webhookMissedEvents) {
                self.values { [([$0], $1.missed)] }
            },
        ]
    }

    /// Returns the values of all current endpoints, also of endpoints without deliveries: a rate needs the 0 at the
    /// start.
    private func values(
        _ values: (_ endpoint: String, EndpointCounts) -> [([String], UInt64)]
    ) -> [[String]: Double] {
        let counts = counts.withLock { $0 }
        let all = endpoints().flatMap { values($0, counts[$0] ?? EndpointCounts()) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0, Double($1)) })
    }
}

/// The last attempts of a node to deliver events to one endpoint.
package struct LastAttempts: Hashable, Sendable {
    package var deliveredAt: Timestamp?
    /// The time of the last failure, and its reason.
    package var failedAt: Timestamp?
    package var fault: DeliveryFault?
    /// The time at which the node found that events were removed before their delivery.
    package var missedAt: Timestamp?

    package init() {}

    /// True if the last attempt failed.
    package var isFailing: Bool { failedAt.map { failed in deliveredAt.map { $0 < failed } ?? true } ?? false }
}
