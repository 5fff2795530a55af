// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// Keeps events in this process, for trying the gateway out: they end with it.
package final class EmbeddedEventLog: EventLog, EventWriter {
    private struct Key: Hashable {
        let partition: AppPartition
        let stream: EventStream
    }

    fileprivate struct Entries {
        var events: [LoggedEvent] = []
        var bytes = 0
        var lastNumber: UInt64 = 0
        var last = EventPosition.start
        /// The numbers of deleted events, which no reader missed.
        var erased: Set<UInt64> = []

        mutating func append(_ event: Event, at now: Timestamp, _ retention: EventRetention, maximumBytes: Int) {
            lastNumber += 1
            // The clock may stand still or go back; positions may not.
            let milliseconds = max(UInt64(clamping: now.millisecondsSince1970), last.milliseconds)
            let counter = milliseconds == last.milliseconds ? last.counter + 1 : 0
            last = EventPosition(milliseconds: milliseconds, counter: counter, number: lastNumber)
            events.append(LoggedEvent(event, at: last))
            bytes += event.json.count
            let oldest = UInt64(clamping: now.advanced(by: .zero - retention.maximumAge).millisecondsSince1970)
            let expired = events.prefix { $0.position.milliseconds < oldest }.count
            removeFirst(max(0, events.count - retention.maximumCountOfPartition, expired))
            while bytes > maximumBytes, events.count > 1 { removeFirst(1) }
        }

        private mutating func removeFirst(_ count: Int) {
            bytes -= events.prefix(count).reduce(0) { $0 + $1.event.json.count }
            events.removeFirst(count)
        }

        /// Returns the number of events between two numbers that no reader gets, deleted events not counted.
        func missed(after number: UInt64, before next: UInt64) -> UInt64 {
            guard number > 0, next > number + 1 else { return 0 }
            return next - number - 1 - UInt64(erased.count { number < $0 && $0 < next })
        }
    }

    private let retention: EventRetention
    private let clock: @Sendable () -> Timestamp
    private let entries = Mutex<[Key: Entries]>([:])

    package init(_ retention: EventRetention, clock: @escaping @Sendable () -> Timestamp) {
        (self.retention, self.clock) = (retention, clock)
    }

    package func append(_ event: Event) { append(event, to: .events, of: event.partition) }

    /// Adds an event, and removes those that are too old or too many.
    package func append(_ event: Event, to stream: EventStream, of partition: AppPartition) {
        let now = clock(), maximumBytes = stream == .relay ? retention.maximumRelayBytesOfPartition : .max
        entries.withLock { entries in
            // In place: a copy would cost as much as all events.
            entries[Key(partition: partition, stream: stream), default: Entries()]
                .append(event, at: now, retention, maximumBytes: maximumBytes)
        }
    }

    package func read(_ queries: [EventQuery]) -> [EventBatch]? {
        entries.withLock { entries in
            queries.map { query in
                let log = entries[Key(partition: query.partition, stream: query.stream)] ?? Entries()
                let later = log.events.drop { $0.position <= query.after }
                let batch = later.prefix(query.maximum)
                let first = batch.first?.position.number ?? log.lastNumber + 1
                let missed = log.missed(after: query.after.number, before: first)
                return EventBatch(
                    events: Array(batch), last: batch.last?.position ?? max(query.after, log.last),
                    missed: missed == 0 ? nil : MissedEvents(count: missed),
                    hasMore: later.count > batch.count)
            }
        }
    }

    package func newest(_ partitions: [AppPartition], _ stream: EventStream) -> [EventPosition]? {
        entries.withLock { entries in
            partitions.map { entries[Key(partition: $0, stream: stream)]?.last ?? .start }
        }
    }

    package func event(at position: EventPosition, in partition: AppPartition, _ stream: EventStream) -> Event? {
        entries.withLock { entries in
            entries[Key(partition: partition, stream: stream)]?.events.first { $0.position == position }?.event
        }
    }

    package func position(
        before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
    ) -> EventPosition {
        entries.withLock { entries in
            let events = entries[Key(partition: partition, stream: stream)]?.events ?? []
            return events.prefix { $0.position.milliseconds < milliseconds }.last?.position ?? .start
        }
    }
}

// MARK: - Erasure

extension EmbeddedEventLog: CustomerDataStore {
    package func erase(_ subject: ErasureSubject) -> ErasureCount {
        erase(from: .events, of: subject.bundleID) { [ids = IDsToErase(of: subject)] in $0.names(ids) }
    }

    /// Deletes the events of an app's log that are about a customer.
    package func erase(from stream: EventStream, of bundleID: String, where isErased: (Event) -> Bool) -> ErasureCount {
        entries.withLock { entries in
            var number = 0
            for key in entries.keys where key.partition.bundleID == bundleID && key.stream == stream {
                let erased = entries[key]?.events.filter { isErased($0.event) }.map(\.position.number) ?? []
                number += erased.count
                entries[key]?.erase(Set(erased), keeping: retention.maximumCountOfPartition)
            }
            return [stream == .events ? .events : .relayedNotifications: number].filter { $0.value > 0 }
        }
    }
}

extension EmbeddedEventLog.Entries {
    fileprivate mutating func erase(_ numbers: Set<UInt64>, keeping maximum: Int) {
        events.removeAll { numbers.contains($0.position.number) }
        bytes = events.reduce(0) { $0 + $1.event.json.count }
        // Without deletions, the log would have no earlier number.
        let first = lastNumber - min(lastNumber, UInt64(maximum))
        erased = erased.union(numbers).filter { $0 > first }
    }
}
