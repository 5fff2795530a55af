// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import Receipts
internal import Synchronization

/// Keeps events in this process, for trying the gateway out: they end with it.
package final class EmbeddedEventLog: EventLog, EventWriter {
    private struct Key: Hashable {
        let partition: AppPartition
        let stream: EventStream
    }

    private struct Entries {
        var events: [LoggedEvent] = []
        var lastNumber: UInt64 = 0
        var last = EventPosition.start
    }

    private let retention: EventRetention
    private let clock: @Sendable () -> Timestamp
    private let entries = Mutex<[Key: Entries]>([:])

    package init(_ retention: EventRetention, clock: @escaping @Sendable () -> Timestamp) {
        self.retention = retention
        self.clock = clock
    }

    package func append(_ event: Event) { append(event, to: .events, of: event.partition) }

    /// Adds an event, and removes those that are too old or too many.
    package func append(_ event: Event, to stream: EventStream, of partition: AppPartition) {
        let now = UInt64(clamping: clock().millisecondsSince1970)
        let oldest = UInt64(clamping: clock().advanced(by: .zero - retention.maximumAge).millisecondsSince1970)
        entries.withLock { entries in
            var log = entries[Key(partition: partition, stream: stream)] ?? Entries()
            log.lastNumber += 1
            // The clock may stand still or go back; positions may not.
            let milliseconds = max(now, log.last.milliseconds)
            let counter = milliseconds == log.last.milliseconds ? log.last.counter + 1 : 0
            log.last = EventPosition(milliseconds: milliseconds, counter: counter, number: log.lastNumber)
            log.events.append(LoggedEvent(event, at: log.last))
            let surplus = log.events.count - retention.maximumCountOfPartition
            let expired = log.events.prefix { $0.position.milliseconds < oldest }.count
            log.events.removeFirst(max(0, surplus, expired))
            entries[Key(partition: partition, stream: stream)] = log
        }
    }
}

extension EmbeddedEventLog {
    package func read(_ queries: [EventQuery]) -> [EventBatch]? {
        entries.withLock { entries in
            queries.map { query in
                let log = entries[Key(partition: query.partition, stream: query.stream)] ?? Entries()
                let later = log.events.drop { $0.position <= query.after }
                let batch = later.prefix(query.maximum)
                let first = batch.first?.position.number ?? log.lastNumber + 1
                let known = query.after.number
                return EventBatch(
                    events: Array(batch), last: batch.last?.position ?? max(query.after, log.last),
                    missed: known > 0 && first > known + 1 ? MissedEvents(count: first - known - 1) : nil,
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
