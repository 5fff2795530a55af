// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Resilience
internal import Synchronization

/// Keeps notifications and customer states in this process, for trying the gateway out: they end with it.
package final class EmbeddedNotificationStore: NotificationStore {
    package enum Limits {
        /// The time for which identities are kept: Apple's last retry comes after 157 hours.
        static let seen: Duration = .seconds(8 * 86_400)
        static let identities = 100_000
        static let stateBytes = 64 << 20
        static let taken = 64
        /// The time after which a notification that was taken and not finished is taken again.
        static let stalled: Duration = .seconds(15)
        /// The chains with a scheduled event; further chains make no event by dates alone.
        static let scheduled = 100_000
    }

    fileprivate struct Entry {
        let record: NotificationRecord
        let storedAt: Timestamp
        var takenAt: Timestamp?
    }

    fileprivate struct Queue {
        var entries: [Int: Entry] = [:]
        var lastIntake: Timestamp?
        var deadLetters = 0
    }

    fileprivate struct State {
        var queues: [AppPartition: Queue] = [:]
        var lastID = 0
        var bytes = 0
        var seen: [NotificationIdentity: Timestamp] = [:]
        var recovered: [String: Timestamp] = [:]
        var recovering: Set<String> = []
    }

    private let isPermitted: Bool
    private let maximumBytes: Int
    private let clock: @Sendable () -> Timestamp
    private let state = Mutex(State())
    private let states: Mutex<S3FIFOCache<PurchaseChain, ChainRecord>>
    /// The next time at which dates alone make an event, of each chain.
    private let due = Mutex<[PurchaseChain: Timestamp]>([:])
    private let log: EmbeddedEventLog
    private let rules: EventRules
    private let relays: @Sendable (_ bundleID: String) -> Bool

    /// - Parameters:
    ///   - isPermitted: false to store no notifications, because they would be lost with the process.
    ///   - maximumBytes: the maximum backlog.
    ///   - relays: returns true for an app whose notifications are relayed.
    package init(
        isPermitted: Bool, maximumBytes: Int, log: EmbeddedEventLog, rules: EventRules,
        relays: @escaping @Sendable (_ bundleID: String) -> Bool, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.log, self.rules, self.relays) = (log, rules, relays)
        (self.isPermitted, self.maximumBytes, self.clock) = (isPermitted, maximumBytes, clock)
        states = Mutex(S3FIFOCache(maximumBytes: Limits.stateBytes))
    }

    // MARK: - Queue

    package func store(
        _ record: NotificationRecord, _ identity: NotificationIdentity, in partition: AppPartition
    ) throws(NotificationStoreFault) -> Bool {
        guard isPermitted else { throw .volatile }
        let now = clock()
        let isNew = try state.withLock { state throws(NotificationStoreFault) in
            guard !state.hasSeen(identity, at: now) else { return false }
            guard state.bytes + record.bytes.count <= maximumBytes else { throw .backlog }
            state.remember(identity, at: now)
            state.bytes += record.bytes.count
            state.lastID += 1
            state.queues[partition, default: Queue()].entries[state.lastID] = Entry(record: record, storedAt: now)
            state.queues[partition]?.lastIntake = now
            return true
        }
        if isNew, relays(partition.bundleID) {
            log.append(Event(relaying: record, of: partition.bundleID), to: .relay, of: partition)
        }
        return isNew
    }

    package func hasSeen(_ identity: NotificationIdentity, in partition: AppPartition) -> Bool {
        let now = clock()
        return state.withLock { $0.hasSeen(identity, at: now) }
    }

    package func take(from partition: AppPartition, includingStalled: Bool) -> [TakenNotification] {
        let now = clock()
        return state.withLock { state in
            guard let entries = state.queues[partition]?.entries else { return [] }
            let waiting = entries.filter { _, entry in
                guard let takenAt = entry.takenAt else { return true }
                return includingStalled && takenAt.advanced(by: Limits.stalled) <= now
            }
            return waiting.sorted { $0.key < $1.key }.prefix(Limits.taken).map { id, entry in
                state.queues[partition]?.entries[id]?.takenAt = now
                return TakenNotification(
                    id: String(id), storedBytes: entry.record.bytes.count, age: entry.storedAt.duration(to: now),
                    record: .success(entry.record))
            }
        }
    }

    @discardableResult
    package func finish(_ finished: [FinishedNotification], in partition: AppPartition) -> Bool {
        for notification in finished {
            let isRemoved = state.withLock { $0.remove(notification.taken, from: partition) }
            if isRemoved, let event = notification.event { log.append(event, to: .events, of: partition) }
        }
        return true
    }

    @discardableResult
    package func discard(_ taken: TakenNotification, _ reason: DeadLetterReason, in partition: AppPartition) -> Bool {
        state.withLock { state in
            state.remove(taken, from: partition)
            state.queues[partition]?.deadLetters += 1
        }
        return true
    }

    /// Returns none: dead letters are only counted here, because no command reads this process.
    package func dead(in partition: AppPartition, maximum: Int) -> [DeadNotification] { [] }

    package func survey(_ partition: AppPartition) -> QueueSurvey? {
        let now = clock()
        return state.withLock { state in
            var survey = QueueSurvey()
            survey.fault = isPermitted ? nil : .volatile
            survey.hasDueEvents = !due(in: partition).isEmpty
            guard let queue = state.queues[partition] else { return survey }
            survey.entries = queue.entries.count
            survey.bytes = queue.entries.values.reduce(0) { $0 + $1.record.bytes.count }
            survey.oldestAge = queue.entries.values.map(\.storedAt).min()?.duration(to: now)
            survey.lastIntakeAge = queue.lastIntake?.duration(to: now)
            survey.deadLetters = queue.deadLetters
            return survey
        }
    }
}

extension EmbeddedNotificationStore.State {
    private typealias Limits = EmbeddedNotificationStore.Limits

    func hasSeen(_ identity: NotificationIdentity, at now: Timestamp) -> Bool {
        seen[identity].map { now < $0.advanced(by: Limits.seen) } ?? false
    }

    mutating func remember(_ identity: NotificationIdentity, at now: Timestamp) {
        if seen.count >= Limits.identities {
            seen = seen.filter { now < $0.value.advanced(by: Limits.seen) }
            // No trial has so many in eight days. A repeated notification is then stored again, to no further effect.
            if seen.count >= Limits.identities { seen = [:] }
        }
        seen[identity] = now
    }

    /// - Returns: false if it was removed before.
    @discardableResult
    mutating func remove(_ taken: TakenNotification, from partition: AppPartition) -> Bool {
        guard let id = Int(taken.id), queues[partition]?.entries.removeValue(forKey: id) != nil else { return false }
        bytes -= taken.storedBytes
        return true
    }

    mutating func erase(_ ids: IDsToErase, of bundleID: String) -> Int {
        var number = 0
        for partition in queues.keys where partition.bundleID == bundleID {
            for (id, entry) in queues[partition]?.entries ?? [:] where entry.record.names(ids) {
                queues[partition]?.entries[id] = nil
                bytes -= entry.record.bytes.count
                number += 1
            }
        }
        return number
    }
}

// MARK: - States

extension EmbeddedNotificationStore {
    package func merge(_ updates: [CustomerStateUpdate]) -> [Result<MergeOutcome, StoreUnreachable>] {
        let now = clock()
        return states.withLock { states in
            updates.map { update in
                var record = states.find(update.chain) ?? ChainRecord(update.chain)
                let outcome = record.merge(update, rules, at: now) { item in
                    SignedStateOrder(item, tieBreaker: UInt32(truncatingIfNeeded: item.hashValue))
                }
                states.insert(record, for: update.chain, byteCount: record.state.byteCount)
                schedule(record)
                for event in outcome.events { log.append(event, to: .events, of: update.chain.partition) }
                return .success(outcome)
            }
        }
    }

    private func schedule(_ record: ChainRecord) {
        let time = record.nextEventTime(rules, at: clock())
        due.withLock { due in
            guard due.count < Limits.scheduled || due[record.chain] != nil || time == nil else { return }
            due[record.chain] = time
        }
    }

    package func due(in partition: AppPartition) -> [PurchaseChain] {
        let now = clock()
        return due.withLock { due in
            due.filter { $0.key.partition == partition && $0.value <= now }.prefix(Limits.taken).map(\.key)
        }
    }

    package func states(of chains: [PurchaseChain]) -> [CustomerState]? {
        states.withLock { states in chains.compactMap { states.find($0)?.state } }
    }
}

// MARK: - Recovery

extension EmbeddedNotificationStore {
    package func recovered(_ bundleID: String, _ environment: Environment) -> Timestamp? {
        state.withLock { $0.recovered[Self.key(bundleID, environment)] }
    }

    package func record(recovered time: Timestamp, _ bundleID: String, _ environment: Environment) {
        state.withLock { $0.recovered[Self.key(bundleID, environment)] = time }
    }

    package func begin(_ bundleID: String, _ environment: Environment, lease: Duration) -> Bool {
        state.withLock { $0.recovering.insert(Self.key(bundleID, environment)).inserted }
    }

    package func end(_ bundleID: String, _ environment: Environment) {
        state.withLock { _ = $0.recovering.remove(Self.key(bundleID, environment)) }
    }

    private static func key(_ bundleID: String, _ environment: Environment) -> String {
        "\(environment.rawValue) \(bundleID)"
    }
}

// MARK: - Erasure

extension EmbeddedNotificationStore: CustomerDataStore {
    package func erase(_ subject: ErasureSubject) -> ErasureCount {
        let ids = IDsToErase(of: subject)
        var count = log.erase(from: .relay, of: subject.bundleID) { event in
            NotificationRecord(.v2, event.json, receivedAt: event.occurredAt).names(ids)
        }
        count[.pendingNotifications] = state.withLock { $0.erase(ids, of: subject.bundleID) }
        count[.customerStates] = states.withLock { states in subject.chains.count { states.remove($0) } }
        due.withLock { due in for chain in subject.chains { due[chain] = nil } }
        return count.filter { $0.value > 0 }
    }
}
