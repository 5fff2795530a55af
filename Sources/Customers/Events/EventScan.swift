// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway

/// Reads the events of several partitions one by one, in the order of writing.
package struct EventScan: Sendable {
    enum Limits {
        /// The entries of one partition that are read at once, about.
        static let entries = 100
        /// The partitions that are read at once.
        static let partitions = 64
    }

    private let log: any EventLog
    private var merge: EventMerge

    /// - Parameter start: the position in each partition after which events are read.
    package init(_ log: any EventLog, from start: [(AppPartition, EventPosition)]) {
        self.log = log
        merge = EventMerge(start.map(\.0), after: start.reduce(into: EventCursor()) { $0[$1.0] = $1.1 })
    }

    /// Creates a reader of the events that were written at or after a time, in milliseconds since 1970.
    package init(
        _ log: any EventLog, _ partitions: [AppPartition], since milliseconds: UInt64
    ) async throws(StoreUnreachable) {
        self.init(log, from: try await log.positions(before: milliseconds, in: partitions))
    }

    /// The entries that cannot be decrypted.
    package var unreadable: Int { merge.unreadable }

    /// Returns the next event; nil at the end of all logs.
    package mutating func next() async throws(StoreUnreachable) -> LoggedEvent? {
        while true {
            var next: LoggedEvent?
            if merge.take(if: {
                next = $1; return true
            }) {
                return next
            }
            let queries = merge.queries(ofEach: Limits.entries).prefix(Limits.partitions)
            guard !queries.isEmpty else { return nil }
            guard let batches = await log.read(Array(queries)), batches.count == queries.count else {
                throw StoreUnreachable()
            }
            merge.add(batches)
        }
    }

    /// Reads on, if there are new events since the end.
    package mutating func resume() { merge.resume() }
}

extension EventLog {
    /// Returns the position in each partition before the first event written at or after a time.
    package func positions(
        before milliseconds: UInt64, in partitions: [AppPartition]
    ) async throws(StoreUnreachable) -> [(AppPartition, EventPosition)] {
        var positions: [(AppPartition, EventPosition)] = []
        for partition in partitions {
            positions.append((partition, try await position(before: milliseconds, in: partition, .events)))
        }
        return positions
    }
}
