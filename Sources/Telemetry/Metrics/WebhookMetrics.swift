// SPDX-License-Identifier: Apache-2.0

package import Customers
internal import Gateway
package import Logging
package import Receipts
internal import Synchronization

extension MetricCatalogue {
    package static let eventsWritten = MetricFamily(
        "receipt_gateway_events_total", .counter, "Events that this node wrote to the log.", by: EventType.self)
    package static let webhookDeliverySeconds = MetricFamily(
        "receipt_gateway_webhook_delivery_seconds",
        .histogram(
            buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 3 * 3600, 12 * 3600, 72 * 3600]),
        "The time from the writing of an event to its delivery.")

    // MARK: - By endpoint

    // An operator must learn which endpoint fails. The endpoints stand in the clients file, which bounds their number.

    package static let webhookDeliveries = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_deliveries_total",
        "Attempts to deliver an event: delivered or failed; and events that were given up: dead.",
        labelNames: ["endpoint", "outcome"], kind: .counter)
    package static let webhookFailures = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_failures_total", "Failed attempts to deliver an event.",
        labelNames: ["endpoint", "reason"], kind: .counter)
    package static let webhookMissedEvents = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_missed_events_total",
        "Events that were removed from the log before their delivery.", labelNames: ["endpoint"], kind: .counter)

    // MARK: - From the last survey of the store, of all nodes together

    package static let webhookLag = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_lag_seconds",
        "The time since the oldest undelivered event of an endpoint was written; 0 without one.",
        labelNames: ["endpoint"])
    package static let webhookHeldEvents = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_held_events",
        "Events that failed, or that wait behind a failed one of the same purchase.", labelNames: ["endpoint"])
    package static let webhookDeadEvents = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_dead_events", "Events that were given up and are kept for redelivery.",
        labelNames: ["endpoint"])
    package static let webhookEndpointDisabled = MetricFamily(
        readAtScrape: "receipt_gateway_webhook_endpoint_disabled",
        "1 for an endpoint that answered 410 and gets nothing, otherwise 0.", labelNames: ["endpoint"])

    static let webhooks = [
        eventsWritten, webhookDeliverySeconds, webhookDeliveries, webhookFailures, webhookMissedEvents, webhookLag,
        webhookHeldEvents, webhookDeadEvents, webhookEndpointDisabled,
    ]
}

extension EventType: SeriesLabels { package static let labelNames = ["type"] }

/// Counts the deliveries of webhooks, and logs the events that need an operator.
package final class WebhookMetrics: Sendable {
    private let counts: WebhookCounts
    private let deliverySeconds: PrometheusHistogram
    private let clock: @Sendable () -> Timestamp
    private let log: OperatorLog

    /// - Parameter counts: the source of the series by endpoint in the registry.
    package init(
        _ registry: PrometheusRegistry, counts: WebhookCounts, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.counts, self.clock) = (counts, clock)
        deliverySeconds = registry.histogram(MetricCatalogue.webhookDeliverySeconds)
        log = OperatorLog(logger, clock: clock)
    }

    package func observe(_ event: WebhookEvent) {
        let now = clock()
        switch event {
        case .delivered(let endpoint, let after, _):
            counts.update(endpoint) { counts in
                counts.outcomes[.delivered, default: 0] += 1
                counts.last.deliveredAt = now
            }
            deliverySeconds.record(after / .seconds(1))
        case .failed(let endpoint, let fault):
            counts.update(endpoint) { counts in
                counts.outcomes[.failed, default: 0] += 1
                counts.failures[fault, default: 0] += 1
                (counts.last.fault, counts.last.failedAt) = (fault, now)
            }
        case .dead(let endpoint, let fault):
            counts.update(endpoint) { $0.outcomes[.dead, default: 0] += 1 }
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
            counts.update(endpoint) { counts in
                // An unknown number is at least one.
                counts.missed = counts.missed.addingWithoutOverflow(count ?? 1)
                counts.last.missedAt = now
            }
            report(
                "missed", endpoint, ["count": "\(count.map { String($0) } ?? "unknown")"],
                "Events are missing in the log, and are not delivered: they were removed because the endpoint was too slow "
                    + "(gateway.events.max_count, gateway.events.max_age), or Redis lost them")
        }
    }

    /// The last attempts of this node, by endpoint.
    package var lastAttempts: [String: LastAttempts] { counts.lastAttempts }

    private func report(_ subject: String, _ endpoint: String, _ metadata: Logger.Metadata, _ text: String) {
        log.log(
            about: "\(subject) \(endpoint)", "\(text)",
            metadata: metadata.merging(["endpoint": "\(endpoint)"]) { first, _ in first })
    }
}

/// The counts of deliveries by endpoint, which each scrape reads.
package final class WebhookCounts: Sendable {
    fileprivate enum Outcome: String, CaseIterable {
        case delivered, failed, dead
    }

    fileprivate struct EndpointCounts {
        var outcomes: [Outcome: UInt64] = [:]
        var failures: [DeliveryFault: UInt64] = [:]
        var missed: UInt64 = 0
        var last = LastAttempts()
    }

    private let endpoints: @Sendable () -> Set<String>
    private let counts = Mutex<[String: EndpointCounts]>([:])

    /// - Parameter endpoints: returns the names of the current endpoints; the counts of removed endpoints are
    ///   forgotten.
    package init(endpoints: @escaping @Sendable () -> Set<String>) { self.endpoints = endpoints }

    fileprivate func update(_ endpoint: String, _ change: (inout EndpointCounts) -> Void) {
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
    private func values(_ values: (_ endpoint: String, EndpointCounts) -> [([String], UInt64)]) -> [[String]: Double] {
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

    package var isFailing: Bool { failedAt.map { failed in deliveredAt.map { $0 < failed } ?? true } ?? false }
}

/// The last survey of each endpoint's queues in the store, which each scrape reads.
package final class WebhookSurveys: Sendable {
    private let names: @Sendable () -> Set<String>
    private let surveys = Mutex<[String: EndpointSurvey]>([:])

    /// - Parameter endpoints: returns the names of the current endpoints; the surveys of removed endpoints are
    ///   forgotten.
    package init(endpoints: @escaping @Sendable () -> Set<String>) { names = endpoints }

    /// Records the survey of all queues of an endpoint.
    package func record(_ queues: [DeliverySurvey], ofEndpoint name: String) {
        let current = names()
        surveys.withLock { surveys in
            surveys = surveys.filter { current.contains($0.key) }
            surveys[name] = EndpointSurvey(of: name, in: queues)
        }
    }

    /// The last survey of each endpoint, in alphabetical order.
    package var endpoints: [EndpointSurvey] {
        let current = names()
        return surveys.withLock { $0.values.filter { current.contains($0.name) }.sorted { $0.name < $1.name } }
    }

    package var series: [SeriesReading] {
        [
            series(MetricCatalogue.webhookLag) { ($0.lag ?? .zero) / .seconds(1) },
            series(MetricCatalogue.webhookHeldEvents) { Double($0.held) },
            series(MetricCatalogue.webhookDeadEvents) { Double($0.dead) },
            series(MetricCatalogue.webhookEndpointDisabled) { $0.disabledAt == nil ? 0 : 1 },
        ]
    }

    private func series(
        _ family: MetricFamily, _ value: @escaping @Sendable (EndpointSurvey) -> Double
    ) -> SeriesReading {
        SeriesReading(family) {
            Dictionary(uniqueKeysWithValues: self.endpoints.map { ([$0.name], value($0)) })
        }
    }
}

package struct EndpointSurvey: Hashable, Sendable {
    package let name: String
    package let held: Int
    package let dead: Int
    /// The events in the log that were not read for it yet.
    package let unread: UInt64
    /// The time since the oldest undelivered event was written; nil if all are delivered.
    package let lag: Duration?
    /// The time of the first 410; nil if the endpoint is enabled.
    package let disabledAt: Timestamp?

    package init(of name: String, in queues: [DeliverySurvey]) {
        self.name = name
        held = queues.reduce(0) { $0 + $1.held }
        dead = queues.reduce(0) { $0 + $1.dead }
        unread = queues.reduce(0) { $0 + $1.unread }
        lag = queues.compactMap(\.lag).max()
        disabledAt = queues.compactMap(\.disabledAt).min()
    }
}
