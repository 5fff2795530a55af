// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The outcome of a posted notification. The raw values appear in metrics.
package enum IntakeOutcome: String, CaseIterable, Hashable, Sendable {
    case stored
    case duplicate
    /// The body, a signature or a claim is wrong.
    case invalid
    /// Genuine, for an app that is not configured.
    case unknownApp = "unknown_app"
    /// Not stored: the store is unreachable, full, or would lose it.
    case refused
}

/// The source of a notification. The raw values appear in metrics.
package enum NotificationOrigin: String, CaseIterable, Hashable, Sendable {
    case posted
    /// Apple's notification history.
    case history
}

/// An event in the handling of notifications, for metrics and logs.
package enum NotificationEvent: Hashable, Sendable {
    case received(IntakeOutcome, NotificationRecord.Version?, NotificationOrigin)
    /// A genuine notification is of an app that is not configured.
    case unknownApp(bundleID: String)
    case refused(NotificationStoreFault)
    /// A notification took effect; the time is since its intake.
    case applied(changed: Bool, after: Duration)
    case deadLetter(DeadLetterReason)
    /// An event was written to the log.
    case event(EventType)
    /// A span of Apple's notification history was read, or could not be.
    case recovery(succeeded: Bool)
}

/// Observes the handling of notifications.
package typealias NotificationObserver = @Sendable (NotificationEvent) -> Void
