// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// Accepts notifications: verifies and stores them, each once, before Apple gets an answer.
///
/// ```
/// body ──▶ verify: signatures, app ──▶ store with its identity (atomic) ──▶ answer
///            │ wrong                       │ known          │ not stored
///            └──▶ rejected                 └──▶ duplicate   └──▶ Apple must send it again
/// ```
package struct NotificationIntake: Sendable {
    private let verifier: NotificationVerifier
    private let queue: any NotificationQueue
    private let observe: NotificationObserver
    private let traces: NotificationTraces
    private let onStored: @Sendable (AppPartition) -> Void

    /// - Parameter onStored: called after a notification was stored, to apply it.
    package init(
        _ verifier: NotificationVerifier, queue: any NotificationQueue, observe: @escaping NotificationObserver,
        traces: NotificationTraces = NotificationTraces(),
        onStored: @escaping @Sendable (AppPartition) -> Void
    ) {
        (self.verifier, self.queue, self.observe, self.traces) = (verifier, queue, observe, traces)
        self.onStored = onStored
    }

    /// Verifies a body that was posted, in less than a millisecond.
    package func verify(body: [UInt8], at now: Timestamp) throws(NotificationRejection) -> VerifiedNotificationBody {
        let notification = try observing(nil, .posted) { () throws(NotificationRejection) in
            try NotificationBody(body)
        }
        let (record, signed) = try observing(notification.version, .posted) { () throws(NotificationRejection) in
            try verifier.verify(notification, body: body, at: now)
        }
        return VerifiedNotificationBody(record: record, signed: signed, isPadded: notification.isPadded(in: body))
    }

    package func store(
        _ notification: VerifiedNotificationBody
    ) async throws(NotificationRejection) -> AcceptedNotification {
        let (record, signed) = (notification.record, notification.signed)
        let outcome = try await store(record, signed, .posted)
        return AcceptedNotification(outcome: outcome, version: record.version, environment: signed.environment)
    }

    /// Accepts a notification from Apple's history.
    /// - Returns: nil for a test notification, which is not stored: its arrival must mean that Apple reached a gateway.
    package func accept(
        signedPayload jws: [UInt8], at now: Timestamp
    ) async throws(NotificationRejection) -> IntakeOutcome? {
        var (record, signed) = try observing(.v2, .history) { () throws(NotificationRejection) in
            try verifier.verify(signedPayload: jws, at: now)
        }
        guard signed.cause.notificationType != "TEST" else { return nil }
        record.origin = .history
        return try await store(record, signed, .history)
    }

    private func store(
        _ record: NotificationRecord, _ signed: SignedNotification, _ origin: NotificationOrigin
    ) async throws(NotificationRejection) -> IntakeOutcome {
        let partition = signed.partition
        do throws(NotificationStoreFault) {
            traces.remember(record)
            let isNew = try await queue.store(record, signed.identity, in: partition)
            let outcome = isNew ? IntakeOutcome.stored : .duplicate
            observe(.received(outcome, record.version, origin))
            if isNew {
                for fault in signed.unreadableItems { observe(.unreadableItem(fault)) }
                onStored(partition)
            }
            return outcome
        } catch {
            observe(.refused(error))
            observe(.received(.refused, record.version, origin))
            throw .notStored(error)
        }
    }

    private func observing<Value>(
        _ version: NotificationRecord.Version?, _ origin: NotificationOrigin,
        _ verify: () throws(NotificationRejection) -> Value
    ) throws(NotificationRejection) -> Value {
        do throws(NotificationRejection) {
            return try verify()
        } catch {
            observe(.received(error.outcome, version, origin))
            if case .appNotConfigured(let bundleID?) = error { observe(.unknownApp(bundleID: bundleID)) }
            throw error
        }
    }
}

/// A notification that was posted and verified, and is not stored yet.
package struct VerifiedNotificationBody: Sendable {
    fileprivate let record: NotificationRecord
    fileprivate let signed: SignedNotification
    /// True if the body is much larger than the notification in it.
    package let isPadded: Bool

    package var version: NotificationRecord.Version { record.version }
    package var bundleID: String { signed.bundleID }
    package var byteCount: Int { record.bytes.count }
}

package struct AcceptedNotification: Hashable, Sendable {
    /// `stored` or `duplicate`.
    package let outcome: IntakeOutcome
    package let version: NotificationRecord.Version
    /// Production if nothing is signed.
    package let environment: Environment
}

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
    case history
}

/// An event in the handling of notifications, for metrics and logs.
package enum NotificationEvent: Hashable, Sendable {
    case received(IntakeOutcome, NotificationRecord.Version?, NotificationOrigin)
    /// A genuine notification is of an app that is not configured.
    case unknownApp(bundleID: String)
    case refused(NotificationStoreFault)
    /// A stored notification has an item that Apple signed and that cannot be read.
    case unreadableItem(ReceiptError)
    /// A notification took effect; the time is since its intake.
    case applied(changed: Bool, after: Duration)
    case deadLetter(DeadLetterReason)
    case event(EventType)
    /// A span of Apple's notification history was read, or could not be.
    case recovery(succeeded: Bool)
}

package typealias NotificationObserver = @Sendable (NotificationEvent) -> Void
