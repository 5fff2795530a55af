// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// Stores notifications until they are applied, each once.
package protocol NotificationQueue: Sendable {
    /// Stores a notification and its identity in one atomic step; returns false for a duplicate.
    func store(
        _ record: NotificationRecord, _ identity: NotificationIdentity, in partition: AppPartition
    ) async throws(NotificationStoreFault) -> Bool

    /// Returns true if a notification of this identity was stored in the last days.
    func hasSeen(_ identity: NotificationIdentity, in partition: AppPartition) async throws(StoreUnreachable)
        -> Bool

    /// Takes notifications that no node has taken, bounded in number and bytes; none if the store is unreachable.
    /// - Parameter includingStalled: true to also take over notifications that a node did not finish in time.
    func take(from partition: AppPartition, includingStalled: Bool) async -> [TakenNotification]

    /// Removes applied notifications and writes their events in one step.
    /// - Returns: false if the store refused it or is away: the notifications are taken again.
    @discardableResult
    func finish(_ finished: [FinishedNotification], in partition: AppPartition) async -> Bool

    /// Moves a notification that cannot be applied to the dead letters.
    /// - Returns: false if the store refused it or is away: the notification is taken again.
    @discardableResult
    func discard(_ taken: TakenNotification, _ reason: DeadLetterReason, in partition: AppPartition) async -> Bool

    /// Returns the dead letters of a partition, the newest first.
    func dead(in partition: AppPartition, maximum: Int) async throws(StoreUnreachable) -> [DeadNotification]

    /// Reads the state of a partition, and removes what is too old; nil if the store is unreachable.
    func survey(_ partition: AppPartition) async -> QueueSurvey?
}

package struct TakenNotification: Sendable {
    package let id: String
    /// The bytes of its stored form.
    package let storedBytes: Int
    package let age: Duration
    /// The notification, or the reason why its stored form cannot be read.
    package let record: Result<NotificationRecord, DeadLetterReason>

    package init(id: String, storedBytes: Int, age: Duration, record: Result<NotificationRecord, DeadLetterReason>) {
        (self.id, self.storedBytes, self.age, self.record) = (id, storedBytes, age, record)
    }
}

package struct FinishedNotification: Sendable {
    package let taken: TakenNotification
    /// The event of a notification about no chain. For a notification about chains, their states make the events.
    package var event: Event?
}

/// The reason why a stored notification cannot be applied. The raw values appear in metrics.
package enum DeadLetterReason: String, Error, CaseIterable, Hashable, Sendable {
    /// The stored form was changed, or is not readable.
    case unreadable
    /// It was encrypted with a key that this node does not have, or has a form of another version of the gateway.
    case unknownForm = "unknown_form"
    /// It no longer verifies, for example because a trust root was removed.
    case notGenuine = "not_genuine"
}

/// A dead letter: a notification that could not be applied.
package struct DeadNotification: Sendable {
    package let bundleID: String
    /// The time when it was given up.
    package let time: Timestamp
    /// The reason as it was stored; another version of the gateway may have other reasons.
    package let reason: String
    /// The bytes of its stored form.
    package let storedBytes: Int
    /// The notification; nil if its stored form cannot be read here.
    package let record: NotificationRecord?

    package init(bundleID: String, time: Timestamp, reason: String, storedBytes: Int, record: NotificationRecord?) {
        (self.bundleID, self.time, self.reason) = (bundleID, time, reason)
        (self.storedBytes, self.record) = (storedBytes, record)
    }
}

/// The state of a partition's queue.
package struct QueueSurvey: Hashable, Sendable {
    package var entries = 0
    /// The bytes of their stored form.
    package var bytes = 0
    /// The time since the oldest entry was stored; nil without entries.
    package var oldestAge: Duration?
    /// The time since the last intake, over all nodes; nil if unknown.
    package var lastIntakeAge: Duration?
    package var deadLetters = 0
    /// The time since the newest notification that the store knows, if it lost a later one; else nil.
    package var lostSince: Duration?
    /// True if dates alone make events by now.
    package var hasDueEvents = false
    /// The reason why nothing may be stored; nil if all is well.
    package var fault: NotificationStoreFault?

    package init() {}
}

/// The reason why a notification is not stored. The raw values appear in metrics.
package enum NotificationStoreFault: String, Error, CaseIterable, Hashable, Sendable {
    case unreachable = "store_unreachable"
    case full = "store_full"
    /// The backlog of notifications that are not applied has its maximum size.
    case backlog = "backlog_full"
    /// The store may evict what is stored: `maxmemory-policy` is `allkeys-*`, or unknown.
    case evicts = "store_evicts"
    /// Too few replicas confirmed the write.
    case replicas = "replicas_missing"
    /// Without Redis, nothing would outlive this process.
    case volatile = "store_volatile"

    /// The remedy for a store that evicts.
    package static let evictionAdvice = "Set maxmemory-policy volatile-lru or noeviction."
}

/// Keeps the newest signed state of each chain, and writes the events of its changes in the same step.
package protocol CustomerStateStore: CustomerStates {
    /// Adds signed states, each in place of an older state of its transaction or plan, and writes their events.
    /// - Returns: the outcome of each update, in order.
    func merge(_ updates: [CustomerStateUpdate]) async -> [Result<MergeOutcome, StoreUnreachable>]

    /// Returns chains for which dates alone make an event by now. Bounded; empty if the store is unreachable.
    func due(in partition: AppPartition) async -> [PurchaseChain]
}

/// New signed states of one chain. Without new states, only the dates of the known states count.
package struct CustomerStateUpdate: Hashable, Sendable {
    package var chain: PurchaseChain
    package var items: [SignedStateItem]
    package var cause: EventCause
}

/// The effect of a `CustomerStateUpdate`.
package struct MergeOutcome: Hashable, Sendable {
    package var changed: Bool
    package var events: [Event]
}

/// Apple's record of the notifications that it sent (Get Notification History).
package protocol NotificationHistory: Sendable {
    /// Returns true if the app has a key, without which Apple shows no history.
    func isAvailable(forApp bundleID: String) -> Bool

    /// Returns a page of the notifications that Apple signed in a span of time, or throws the reason for none.
    func page(_ query: NotificationHistoryQuery, after token: String?) async throws(DegradedReason)
        -> NotificationHistoryPage
}

/// The notifications to read from Apple's history.
package struct NotificationHistoryQuery: Hashable, Sendable {
    package var bundleID: String
    /// Production or the sandbox.
    package var environment: Environment
    package var start: Timestamp
    package var end: Timestamp
    /// True for those that no server has acknowledged yet.
    package var onlyFailures = false

    package init(bundleID: String, environment: Environment, start: Timestamp, end: Timestamp) {
        (self.bundleID, self.environment, self.start, self.end) = (bundleID, environment, start, end)
    }
}

package struct NotificationHistoryPage: Hashable, Sendable {
    /// The JWS of each notification, not verified yet.
    package var signedPayloads: [[UInt8]]
    /// The token of the next page; nil after the last page.
    package var next: String?

    package init(_ signedPayloads: [[UInt8]], next: String? = nil) {
        (self.signedPayloads, self.next) = (signedPayloads, next)
    }
}

/// The progress of the fleet in reading Apple's history.
package protocol RecoveryProgress: Sendable {
    /// Returns the time up to which an app's history was read; nil if it never was.
    func recovered(_ bundleID: String, _ environment: Environment) async throws(StoreUnreachable) -> Timestamp?
    func record(recovered time: Timestamp, _ bundleID: String, _ environment: Environment) async
    /// Returns true if this node may read the history now, and no other node does.
    func begin(_ bundleID: String, _ environment: Environment, lease: Duration) async -> Bool
    func end(_ bundleID: String, _ environment: Environment) async
}

/// The store of everything about notifications: Redis, or this process.
package typealias NotificationStore = NotificationQueue & CustomerStateStore & RecoveryProgress
