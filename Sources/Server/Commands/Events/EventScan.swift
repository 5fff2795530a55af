// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Events
internal import Gateway

/// Reads the logs of several partitions, in the order of writing.
struct EventScan: Sendable {
    enum Limits {
        /// The entries of one partition that are read at once.
        static let entries = 100
        /// The partitions that are read at once.
        static let partitions = 64
    }

    /// The log of one partition.
    private struct Source {
        let partition: AppPartition
        var after: EventPosition
        var events: ArraySlice<LoggedEvent> = []
        var isAtEnd = false
    }

    private let log: any EventLog
    private let stream: EventStream
    private var sources: [Source]
    /// The entries that cannot be decrypted.
    private(set) var unreadable = 0

    /// - Parameter start: the position in each partition after which events are read.
    init(_ log: any EventLog, _ stream: EventStream = .events, from start: [(AppPartition, EventPosition)]) {
        self.log = log
        self.stream = stream
        sources = start.map { Source(partition: $0.0, after: $0.1) }
    }

    /// Creates a reader of the events that were written at or after a time.
    init(_ log: any EventLog, _ partitions: [AppPartition], since milliseconds: UInt64) async throws(StoreUnreachable) {
        var start: [(AppPartition, EventPosition)] = []
        for partition in partitions {
            start.append((partition, try await log.position(before: milliseconds, in: partition, .events)))
        }
        self.init(log, from: start)
    }

    /// Returns the next event; nil at the end of all logs.
    mutating func next() async throws(StoreUnreachable) -> LoggedEvent? {
        try await refill()
        let heads = sources.indices.compactMap { index in sources[index].events.first.map { ($0.position, index) } }
        guard let oldest = heads.min(by: { $0.0 < $1.0 }) else { return nil }
        return sources[oldest.1].events.popFirst()
    }

    /// Reads on, if there are new events since the end.
    mutating func resume() {
        for index in sources.indices { sources[index].isAtEnd = false }
    }

    private mutating func refill() async throws(StoreUnreachable) {
        while true {
            let empty = sources.indices.filter { sources[$0].events.isEmpty && !sources[$0].isAtEnd }
            guard !empty.isEmpty else { return }
            try await read(empty.prefix(Limits.partitions))
        }
    }

    private mutating func read(_ indices: ArraySlice<Int>) async throws(StoreUnreachable) {
        let queries = indices.map {
            EventQuery(sources[$0].partition, stream, after: sources[$0].after, maximum: Limits.entries)
        }
        guard let batches = await log.read(queries), batches.count == queries.count else { throw StoreUnreachable() }
        for (index, batch) in zip(indices, batches) {
            sources[index].isAtEnd = batch.events.isEmpty && batch.last <= sources[index].after
            sources[index].after = batch.last
            sources[index].events = batch.events[...]
            unreadable += batch.unreadable
        }
    }
}
