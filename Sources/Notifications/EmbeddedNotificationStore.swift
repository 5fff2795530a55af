// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Caching
package import Gateway
package import Receipts
internal import Synchronization

/// Keeps notifications and customer states in this process, for trying the gateway out: they end with it.
package final class EmbeddedNotificationStore: NotificationStore {
    package enum Limits {
        /// The time for which identities are kept: Apple's last retry comes after 157 hours.
        static let seen: Duration = .seconds(8 * 86_400)
        static let identities = 100_000
        static let stateBytes = 64 << 20
        /// The notifications that are taken at once.
        static let taken = 64
        /// The time after which a notification that was taken and not finished is taken again.
        static let stalled: Duration = .seconds(15)
        static let deadLetters = 1000
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
        var queues: [NotificationPartition: Queue] = [:]
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
    private let states: Mutex<Generations<PurchaseChain, CustomerState>>

    /// - Parameters:
    ///   - isPermitted: false to store no notifications, because they would be lost with the process.
    ///   - maximumBytes: the maximum backlog.
    package init(isPermitted: Bool, maximumBytes: Int, clock: @escaping @Sendable () -> Timestamp) {
        self.isPermitted = isPermitted
        self.maximumBytes = maximumBytes
        self.clock = clock
        states = Mutex(Generations(maximumBytes: Limits.stateBytes))
    }
}

// MARK: - Queue

extension EmbeddedNotificationStore {
    package func store(
        _ record: NotificationRecord, _ identity: NotificationIdentity, in partition: NotificationPartition
    ) throws(NotificationStoreFault) -> Bool {
        guard isPermitted else { throw .volatile }
        let now = clock()
        return try state.withLock { state throws(NotificationStoreFault) in
            guard !state.hasSeen(identity, at: now) else { return false }
            guard state.bytes + record.bytes.count <= maximumBytes else { throw .backlog }
            state.remember(identity, at: now)
            state.bytes += record.bytes.count
            state.lastID += 1
            state.queues[partition, default: Queue()].entries[state.lastID] = Entry(record: record, storedAt: now)
            state.queues[partition]?.lastIntake = now
            return true
        }
    }

    package func hasSeen(_ identity: NotificationIdentity, in partition: NotificationPartition) -> Bool {
        let now = clock()
        return state.withLock { $0.hasSeen(identity, at: now) }
    }

    package func take(from partition: NotificationPartition, includingStalled: Bool) -> [TakenNotification] {
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

    package func finish(_ taken: [TakenNotification], in partition: NotificationPartition) {
        state.withLock { state in for notification in taken { state.remove(notification, from: partition) } }
    }

    package func discard(
        _ taken: TakenNotification, _ reason: DeadLetterReason, in partition: NotificationPartition
    ) {
        state.withLock { state in
            state.remove(taken, from: partition)
            state.queues[partition]?.deadLetters += 1
        }
    }

    package func survey(_ partition: NotificationPartition) -> QueueSurvey? {
        let now = clock()
        return state.withLock { state in
            var survey = QueueSurvey()
            survey.fault = isPermitted ? nil : .volatile
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
            // More in eight days than a trial has: a repetition of one of them has no further effect either.
            if seen.count >= Limits.identities { seen = [:] }
        }
        seen[identity] = now
    }

    mutating func remove(_ taken: TakenNotification, from partition: NotificationPartition) {
        guard let id = Int(taken.id), queues[partition]?.entries.removeValue(forKey: id) != nil else { return }
        bytes -= taken.storedBytes
    }
}

// MARK: - States

extension EmbeddedNotificationStore {
    package func merge(_ updates: [CustomerStateUpdate]) -> [Result<Bool, StoreUnreachable>] {
        states.withLock { states in
            updates.map { update in
                var state = states.find(update.chain) ?? CustomerState()
                let changed = state.merge(update.items)
                if changed { states.insert(state, for: update.chain, byteCount: state.byteCount) }
                return .success(changed)
            }
        }
    }

    package func states(of chains: [PurchaseChain]) -> [CustomerState]? {
        states.withLock { states in chains.compactMap { states.find($0) } }
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
