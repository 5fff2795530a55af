// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
internal import Receipts

/// One attempt to deliver an event.
struct DeliveryAttempt: Sendable {
    let queue: DeliveryQueue
    /// The lease under which it was begun (`QueueDeliveries.lease`).
    let lease: Int
    let position: EventPosition
    let chain: String
    /// Nil for a held event, which is read from the log again.
    let event: Event?
    let followsGap: Bool
    let isProbe: Bool
    let startedAt: Timestamp

    /// True for a held event.
    var isRetry: Bool { event == nil }
}

/// The end of an attempt.
enum AttemptOutcome: Hashable, Sendable {
    case delivered
    /// The endpoint no longer receives events of this type.
    case filtered
    case failed(DeliveryFault, eventID: String, retryAfter: Duration?)
    /// The log no longer has the event.
    case removed
    /// The log is unreachable.
    case unread
}

extension WebhookEndpoint {
    /// Returns true if the endpoint receives events of this type. Apple's own notifications have none.
    func receives(_ event: Event) -> Bool { stream == .relay || types?.contains(event.type) ?? true }

    /// The queues of its events.
    package var queues: [DeliveryQueue] {
        apps.sorted().flatMap(AppPartition.all).map {
            DeliveryQueue(endpoint: name, partition: $0, stream: stream)
        }
    }
}

extension Event {
    /// A digest of the purchase chain; the event's ID for an event about none.
    var chain: String {
        guard let originalTransactionID else { return id }
        return PurchaseChain(
            bundleID: bundleID, environment: environment, originalTransactionID: originalTransactionID
        ).deliveryName
    }
}

extension PurchaseChain {
    /// The digest by which deliveries know the chain.
    package var deliveryName: String {
        let digest = HashFunction.sha256.digest(of: Array("\(environment.rawValue) \(originalTransactionID)".utf8))
        return Base64.text(Array(digest.prefix(15)))
    }
}
