// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Synchronization

/// Keeps the state of deliveries in this process, for trying the gateway out: it ends with it.
package final class EmbeddedDeliveryStore: DeliveryStore {
    package enum Limits {
        /// The dead deliveries of one queue, the newest.
        static let dead = 1000
    }

    private struct Entry {
        var state = DeliveryState()
        /// The oldest first.
        var dead: [DeadDelivery] = []
        var lease: (node: Int, end: Timestamp)?
    }

    private final class Entries: Sendable {
        let byQueue = Mutex<[DeliveryQueue: Entry]>([:])
    }

    private let log: any EventLog
    private let clock: @Sendable () -> Timestamp
    private let entries: Entries
    private let node: Int

    package init(log: any EventLog, clock: @escaping @Sendable () -> Timestamp) {
        (self.log, self.clock) = (log, clock)
        (entries, node) = (Entries(), 0)
    }

    /// Creates the view that another node has of the same deliveries.
    init(sharedWith other: EmbeddedDeliveryStore, node: Int) {
        (log, clock, entries, self.node) = (other.log, other.clock, other.entries, node)
    }

    func state(of queue: DeliveryQueue) -> DeliveryState {
        entries.byQueue.withLock { $0[queue]?.state } ?? DeliveryState()
    }

    // MARK: - Leases

    package func begin(_ queues: [DeliveryQueue]) async throws(StoreUnreachable) {
        for queue in queues {
            guard let newest = await log.newest([queue.partition], queue.stream)?.first else {
                throw StoreUnreachable()
            }
            entries.byQueue.withLock { entries in
                if entries[queue, default: Entry()].state.position == nil {
                    entries[queue, default: Entry()].state.position = newest
                }
            }
        }
    }

    package func acquire(_ queue: DeliveryQueue, for lease: Duration) -> DeliveryState? {
        let now = clock()
        return entries.byQueue.withLock { entries in
            var entry = entries[queue] ?? Entry()
            if let lease = entry.lease, lease.node != node, now < lease.end { return nil }
            entry.lease = (node, now.advanced(by: lease))
            entries[queue] = entry
            return entry.state
        }
    }

    package func save(
        _ changes: DeliveryChanges, of queue: DeliveryQueue, renewing lease: Duration
    ) throws(DeliveryStoreFault) {
        let now = clock()
        try entries.byQueue.withLock { entries throws(DeliveryStoreFault) in
            guard var entry = entries[queue], entry.lease?.node == node else { throw .leaseLost }
            entry.lease = (node, now.advanced(by: lease))
            entry.state.apply(changes)
            entry.dead = (entry.dead + changes.dead).suffix(Limits.dead)
            entries[queue] = entry
        }
    }

    package func release(_ queue: DeliveryQueue) {
        entries.byQueue.withLock { entries in
            if entries[queue]?.lease?.node == node { entries[queue]?.lease = nil }
        }
    }
}

extension DeliveryState {
    fileprivate mutating func apply(_ changes: DeliveryChanges) {
        position = changes.position ?? position
        let replaced = Set(changes.removed + changes.held.map(\.position))
        held = held.filter { !replaced.contains($0.position) } + changes.held
        gaps = gaps.union(changes.gapsAdded).subtracting(changes.gapsRemoved)
        disabledAt = changes.disabledAt ?? disabledAt
    }
}

// MARK: - For operators

extension EmbeddedDeliveryStore {
    package func survey(_ queues: [DeliveryQueue]) async throws(StoreUnreachable) -> [DeliverySurvey] {
        var surveys: [DeliverySurvey] = []
        for queue in queues { surveys.append(try await survey(queue)) }
        return surveys
    }

    private func survey(_ queue: DeliveryQueue) async throws(StoreUnreachable) -> DeliverySurvey {
        let now = clock()
        let entry = entries.byQueue.withLock { $0[queue] } ?? Entry()
        var survey = DeliverySurvey()
        (survey.position, survey.disabledAt) = (entry.state.position, entry.state.disabledAt)
        (survey.held, survey.dead) = (entry.state.held.count, entry.dead.count)
        survey.isLeased = entry.lease.map { now < $0.end } ?? false
        guard let position = entry.state.position else { return survey }
        let query = EventQuery(queue.partition, queue.stream, after: position, maximum: 1)
        guard let unread = await log.read([query])?.first,
            let newest = await log.newest([queue.partition], queue.stream)?.first
        else { throw StoreUnreachable() }
        survey.unread = newest.number > position.number ? newest.number - position.number : 0
        let oldest = (entry.state.held.map(\.position) + unread.events.map(\.position)).min()
        survey.lag = oldest.map { max(.zero, $0.time.duration(to: now)) }
        return survey
    }

    package func dead(_ queue: DeliveryQueue, maximum: Int) -> [DeadDelivery] {
        entries.byQueue.withLock { $0[queue]?.dead.suffix(maximum).reversed() ?? [] }
    }

    package func redeliver(_ queue: DeliveryQueue, eventID: String?) -> Int {
        let now = clock()
        return change(queue) { entry in
            let moved = entry.dead.filter { eventID == nil || $0.eventID == eventID }
            entry.dead.removeAll { eventID == nil || $0.eventID == eventID }
            entry.state.held += moved.map { dead in
                var event = HeldEvent(dead.position, chain: dead.chain)
                event.nextAttempt = now
                return event
            }
            return moved.count
        }
    }

    package func rewind(_ queue: DeliveryQueue, to position: EventPosition) {
        change(queue) { entry in
            entry.state.position = position
            entry.state.disabledAt = nil
            // They are read again.
            entry.state.held.removeAll { position < $0.position }
        }
    }

    package func enable(_ queue: DeliveryQueue) { change(queue) { $0.state.disabledAt = nil } }

    /// Changes a queue and ends its lease, so that the worker reads its state anew.
    private func change<Result>(_ queue: DeliveryQueue, _ change: (inout Entry) -> Result) -> Result {
        entries.byQueue.withLock { entries in
            entries[queue, default: Entry()].lease = nil
            return change(&entries[queue, default: Entry()])
        }
    }
}

// MARK: - Erasure

extension EmbeddedDeliveryStore: CustomerDataStore {
    /// Deletes the deliveries of chains, and of events that the log no longer has. The workers read their state anew.
    package func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let chains = Set(subject.chains.map(\.deliveryName))
        let queues = entries.byQueue.withLock { $0.keys.filter { $0.partition.bundleID == subject.bundleID } }
        var number = 0
        for queue in queues {
            let (held, dead) = entries.byQueue.withLock { ($0[queue]?.state.held ?? [], $0[queue]?.dead ?? []) }
            let positions = Set(held.map(\.position) + dead.map(\.position))
            var erased = Set(
                held.filter { chains.contains($0.chain) }.map(\.position)
                    + dead.filter { chains.contains($0.chain) }.map(\.position))
            for position in positions.subtracting(erased)
            where try await log.event(at: position, in: queue.partition, queue.stream) == nil {
                erased.insert(position)
            }
            number += erased.count
            change(queue) { entry in
                entry.state.held.removeAll { erased.contains($0.position) }
                entry.dead.removeAll { erased.contains($0.position) }
                entry.state.gaps.subtract(chains)
            }
        }
        return number == 0 ? [:] : [.deliveries: number]
    }
}
