// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Events
internal import Gateway
package import Receipts
package import Waiting

/// Accepts notifications: verifies and stores them, each once, before Apple gets an answer.
///
/// ```
/// body ──▶ signatures, app ──▶ store with its identity (atomic) ──▶ answer
///            │ wrong               │ known          │ not stored
///            └──▶ rejected         └──▶ duplicate   └──▶ Apple must send it again
/// ```
package struct NotificationIntake: Sendable {
    private let verifier: NotificationVerifier
    private let queue: any NotificationQueue
    private let observer: any NotificationObserver
    private let onStored: @Sendable (AppPartition) -> Void

    /// - Parameter onStored: called after a notification was stored, to apply it.
    package init(
        _ verifier: NotificationVerifier, queue: any NotificationQueue, observer: any NotificationObserver,
        onStored: @escaping @Sendable (AppPartition) -> Void
    ) {
        self.verifier = verifier
        self.queue = queue
        self.observer = observer
        self.onStored = onStored
    }

    /// Accepts a body that was posted. Verification takes less than a millisecond; only the store is awaited.
    package func accept(
        body: [UInt8], at now: Timestamp
    ) throws(NotificationRejection) -> Step<AcceptedNotification, NotificationRejection> {
        let notification = try observing(nil, .posted) { () throws(NotificationRejection) in
            try NotificationBody(body)
        }
        let (record, signed) = try observing(notification.version, .posted) { () throws(NotificationRejection) in
            try verifier.verify(notification, body: body, at: now)
        }
        return .wait { () throws(NotificationRejection) in
            let outcome = try await store(record, signed, .posted)
            return .done(
                AcceptedNotification(outcome: outcome, version: record.version, environment: signed.environment))
        }
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
            let isNew = try await queue.store(record, signed.identity, in: partition)
            let outcome = isNew ? IntakeOutcome.stored : .duplicate
            observer.observe(.received(outcome, record.version, origin))
            if isNew { onStored(partition) }
            return outcome
        } catch {
            observer.observe(.refused(error))
            observer.observe(.received(.refused, record.version, origin))
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
            observer.observe(.received(error.outcome, version, origin))
            if case .appNotConfigured(let bundleID?) = error { observer.observe(.unknownApp(bundleID: bundleID)) }
            throw error
        }
    }
}

/// A notification that is stored.
package struct AcceptedNotification: Hashable, Sendable {
    /// `stored` or `duplicate`.
    package let outcome: IntakeOutcome
    package let version: NotificationRecord.Version
    /// Production if nothing is signed.
    package let environment: Environment
}
