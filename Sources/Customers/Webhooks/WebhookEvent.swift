// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An event in the delivery of webhooks, for metrics and logs.
package enum WebhookEvent: Hashable, Sendable {
    /// An attempt succeeded.
    case delivered(endpoint: String, after: Duration, took: Duration)
    case failed(endpoint: String, DeliveryFault)
    /// An event is given up, after its last attempt.
    case dead(endpoint: String, DeliveryFault)
    /// The endpoint answered 410.
    case disabled(endpoint: String)
    /// Events were removed from the log before they were delivered.
    case missed(endpoint: String, count: UInt64?)
}

/// Observes the delivery of webhooks.
package typealias WebhookObserver = @Sendable (WebhookEvent) -> Void
