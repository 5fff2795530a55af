// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// One chain before and after its state became newer, or dates passed. Reads no clock and stores nothing, so that
/// every node derives the same `events`.
struct StateTransition: Sendable {
    enum Limits {
        /// The age at which a change is history: a gateway that sees it for the first time does not announce it. Stores
        /// keep the identities of notifications for the same time.
        static let window: Duration = .seconds(8 * 86_400)
    }

    let chain: PurchaseChain
    /// The state before; empty if it is unknown.
    let before: CustomerState
    /// The state after, with all that is signed so far; equal to `before` for the schedule.
    let after: CustomerState
    let announced: Set<String>
    let cause: EventCause
    let now: Timestamp
    /// The time after the end of a period at which it counts as expired without a notification.
    let expiryDelay: Duration
    let keepsSignedData: Bool

    /// The events to add to the log, in this order. None has an ID that was announced.
    var events: [Event] {
        var known = announced
        let scope = EventScope(chain)
        return contents.filter { known.insert(scope.id($0.change, of: $0.key)).inserted }
            .map { Event($0, of: scope, cause, keepsSignedData: keepsSignedData) }
    }

    private var contents: [EventContents] {
        if cause.source == .schedule {
            return after.scheduledChanges(of: chain, announced: announced, expiryDelay: expiryDelay, at: now)
                .filter { $0.due <= now }.map(\.contents)
        }
        let change = ChainChange(self)
        let facts = change.changes.filter(\.isNews).flatMap(\.contents)
            .filter { !change.isAnnounced($0.change, of: $0.key) }
        let plan = PlanChange(change, announcing: facts)?.contents ?? []
        return facts + plan + notification(change)
    }

    /// The events of notifications that say nothing about the state.
    private func notification(_ change: ChainChange) -> [EventContents] {
        guard let transaction = change.notified, cause.isRecent(at: now) else { return [] }
        switch cause.notifiedChange {
        case .consumptionRequest: return [cause.consumptionRequest(of: transaction)]
        // The type alone proves nothing in version 1.
        case .unknown: return cause.notificationUUID == nil ? [] : [cause.unknown(transaction)]
        default: return []
        }
    }
}

extension EventCause {
    private enum Limits {
        /// The time that Apple waits for the answer to a consumption request.
        static let consumptionAnswer: Duration = .seconds(12 * 3600)
    }

    /// Returns false for a notification that may be a repetition whose identity is no longer known.
    fileprivate func isRecent(at now: Timestamp) -> Bool {
        signedDate >= now.advanced(by: .zero - StateTransition.Limits.window)
    }

    /// Apple repeats a request under other UUIDs, so one request counts for each day.
    fileprivate func consumptionRequest(of transaction: Transaction) -> EventContents {
        let day = String(signedDate.description.prefix { $0 != "T" })
        var contents = EventContents(
            .consumptionRequested, .consumption, of: [transaction.transactionID, day], at: signedDate, transaction)
        contents.deadline = signedDate.advanced(by: Limits.consumptionAnswer)
        return contents
    }

    fileprivate func unknown(_ transaction: Transaction?) -> EventContents {
        let key = notificationUUID.map { [$0.lowercased()] } ?? notificationIdentity
        return EventContents(.unknown, .notification, of: key, at: signedDate, transaction)
    }
}

// MARK: - Dates

extension CustomerState {
    /// Returns the next time, or the past time, at which dates alone make an event; nil if there is none.
    package func nextEventTime(
        of chain: PurchaseChain, announced: Set<String>, expiryDelay: Duration, at now: Timestamp
    ) -> Timestamp? {
        scheduledChanges(of: chain, announced: announced, expiryDelay: expiryDelay, at: now).first?.due
    }
}

// MARK: - Without a chain

extension Event {
    /// Creates the event of type `unknown` for a notification about no chain; nil if the notification is too old.
    package static func notification(
        _ cause: EventCause, bundleID: String, _ environment: Environment, at now: Timestamp
    ) -> Event? {
        guard cause.isRecent(at: now) else { return nil }
        let scope = EventScope(bundleID: bundleID, environment: environment)
        return Event(cause.unknown(nil), of: scope, cause, keepsSignedData: false)
    }
}
