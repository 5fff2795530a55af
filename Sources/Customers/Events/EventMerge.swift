// SPDX-License-Identifier: Apache-2.0

/// The logs of several partitions as one, in the order of writing. A value without I/O: it names the logs to read next,
/// and gives events as soon as none can come before them.
struct EventMerge {
    fileprivate struct Source {
        let partition: AppPartition
        /// The position behind the events that were taken.
        var position: EventPosition
        var pending: ArraySlice<LoggedEvent> = []
        /// The position behind `pending`.
        var end: EventPosition
        /// True if the log has no events after `end`.
        var isAtEnd = false

        var mustRead: Bool { pending.isEmpty && !isAtEnd }
    }

    private var sources: [Source]
    /// By bundle ID.
    private(set) var missed: [String: MissedEvents] = [:]
    /// The entries that cannot be decrypted.
    private(set) var unreadable = 0

    init(_ partitions: [AppPartition], after cursor: EventCursor) {
        sources = partitions.map { Source(partition: $0, position: cursor[$0], end: cursor[$0]) }
    }

    var cursor: EventCursor { sources.reduce(into: EventCursor()) { $0[$1.partition] = $1.position } }

    var hasMore: Bool { sources.contains { !$0.pending.isEmpty || !$0.isAtEnd } }

    // MARK: - Reading

    /// Returns the queries without which no further event can be given.
    /// - Parameter wanted: the number of events they return together, about.
    func queries(for wanted: Int) -> [EventQuery] {
        let waiting = sources.count(where: \.mustRead)
        return waiting == 0 ? [] : queries(ofEach: wanted / waiting + 1)
    }

    /// - Parameter maximum: the number of events that each returns at most.
    func queries(ofEach maximum: Int) -> [EventQuery] {
        sources.filter(\.mustRead).map { EventQuery($0.partition, after: $0.position, maximum: maximum) }
    }

    /// Adds the answers to the last queries, or to the first of them.
    mutating func add(_ batches: [EventBatch]) {
        let waiting = sources.indices.filter { sources[$0].mustRead }
        for (index, batch) in zip(waiting, batches) {
            sources[index].add(batch)
            unreadable += batch.unreadable
            guard let missed = batch.missed else { continue }
            self.missed[sources[index].partition.bundleID, default: MissedEvents(count: 0)].add(missed)
        }
    }

    /// Reads all logs again, if there are new events since their end.
    mutating func resume() {
        for index in sources.indices { sources[index].isAtEnd = false }
    }

    // MARK: - Taking

    private var earliest: Int? {
        guard !sources.contains(where: \.mustRead) else { return nil }
        let pending = sources.indices.compactMap { index in sources[index].pending.first.map { (index, $0.position) } }
        return pending.min { $0.1 < $1.1 }?.0
    }

    /// Takes the next event, if it exists and is accepted.
    mutating func take(if accepts: (AppPartition, LoggedEvent) -> Bool) -> Bool {
        guard let index = earliest, let event = sources[index].pending.first,
            accepts(sources[index].partition, event)
        else { return false }
        sources[index].takeFirst()
        return true
    }
}

extension EventMerge.Source {
    fileprivate mutating func add(_ batch: EventBatch) {
        (pending, end, isAtEnd) = (batch.events[...], batch.last, !batch.hasMore)
        // Missed events count as read, so that they are reported once.
        if batch.missed != nil, let first = pending.first { position = first.position.predecessor }
        if pending.isEmpty { position = end }
    }

    fileprivate mutating func takeFirst() {
        guard let taken = pending.popFirst() else { return }
        position = pending.isEmpty ? end : taken.position
    }
}

extension EventPosition {
    /// The position of the entry before in the same millisecond, or after all entries of the millisecond before.
    fileprivate var predecessor: EventPosition {
        let number = max(1, number) - 1
        guard counter > 0 else { return .end(of: max(1, milliseconds) - 1, number: number) }
        return EventPosition(milliseconds: milliseconds, counter: counter - 1, number: number)
    }
}

extension MissedEvents {
    fileprivate mutating func add(_ other: MissedEvents) {
        count = count.flatMap { count in other.count.map { count + $0 } }
    }
}
