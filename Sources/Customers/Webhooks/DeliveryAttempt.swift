// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
