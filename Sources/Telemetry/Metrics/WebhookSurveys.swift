// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Receipts
internal import Synchronization

/// The last survey of each endpoint's queues in the store, which each scrape reads.
package final class WebhookSurveys: Sendable {
    private let names: @Sendable () -> Set<String>
    private let surveys = Mutex<[String: EndpointSurvey]>([:])

    /// - Parameter endpoints: returns the names of the current endpoints; the surveys of removed endpoints are
    ///   forgotten.
    package init(endpoints: @escaping @Sendable () -> Set<String>) {
        names = endpoints
    }

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

/// The last survey of one endpoint.
package struct EndpointSurvey: Hashable, Sendable {
    /// The name of the endpoint.
    package let name: String
    package let held: Int
    package let dead: Int
    /// The events in the log that were not read for it yet.
    package let unread: UInt64
    /// The time since the oldest undelivered event was written; nil if all are delivered.
    package let lag: Duration?
    /// The time of the first 410; nil if the endpoint is enabled.
    package let disabledAt: Timestamp?

    /// Adds up the queues of an endpoint.
    package init(of name: String, in queues: [DeliverySurvey]) {
        self.name = name
        held = queues.reduce(0) { $0 + $1.held }
        dead = queues.reduce(0) { $0 + $1.dead }
        unread = queues.reduce(0) { $0 + $1.unread }
        lag = queues.compactMap(\.lag).max()
        disabledAt = queues.compactMap(\.disabledAt).min()
    }
}
