// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

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

extension EventType: SeriesLabels {
    package static var labelNames: [String] { ["type"] }
}
