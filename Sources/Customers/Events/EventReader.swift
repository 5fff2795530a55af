// SPDX-License-Identifier: Apache-2.0

package import Gateway

package struct EventReadRequest: Hashable, Sendable {
    package var apps: [String]
    package var cursor: EventCursor
    /// Nil for all.
    package var types: Set<EventType>?
    package var maximumCount: Int
    package var includesSignedData: Bool

    package init(
        _ apps: [String], after cursor: EventCursor, types: Set<EventType>? = nil, maximumCount: Int,
        includesSignedData: Bool = false
    ) {
        (self.apps, self.cursor, self.types) = (apps, cursor, types)
        (self.maximumCount, self.includesSignedData) = (maximumCount, includesSignedData)
    }

    package var partitions: [AppPartition] { apps.flatMap { AppPartition.all(of: $0) } }

    /// The position after which events are wanted, for each partition.
    package var positions: [AppPartition: EventPosition] {
        Dictionary(uniqueKeysWithValues: partitions.map { ($0, cursor[$0]) })
    }
}

/// Some of the events after a cursor, oldest first.
package struct MergedEventPage: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let partition: AppPartition
        package let position: EventPosition
        package let event: Event
    }

    package fileprivate(set) var entries: [Entry] = []
    /// The cursor before the first entry, after what was missed.
    package fileprivate(set) var start: EventCursor
    /// The cursor after all that was read, also after events of other types.
    package fileprivate(set) var next: EventCursor
    /// True if the logs may have more.
    package fileprivate(set) var hasMore = true
    /// The events that the logs no longer have, by bundle ID.
    package fileprivate(set) var missed: [String: MissedEvents] = [:]

    package var isEmpty: Bool { entries.isEmpty && missed.isEmpty }
}

/// Reads the logs of several apps as one.
package struct EventReader: Sendable {
    package enum Limits {
        package static let apps = 16
        /// The size of the events in a page, together; a larger event is a page of its own.
        static let pageBytes = 1 << 20
        /// The round trips for one page. A page that needs more is shorter, with `hasMore`.
        static let reads = 16
        /// The events in the answer to one round trip, about.
        static let eventsPerRead = 256
    }

    private let log: any EventLog

    package init(_ log: any EventLog) { self.log = log }

    /// Returns the next page; nil if the store is unreachable.
    package func page(_ request: EventReadRequest) async -> MergedEventPage? {
        var merge = EventMerge(request.partitions, after: request.cursor)
        var page = MergedEventPage(start: request.cursor, next: request.cursor)
        var room = Room(request)
        for read in 0..<Limits.reads {
            // What was read before a failure is a page too.
            guard let batches = await log.read(merge.queries(for: room.wanted)) else { return read == 0 ? nil : page }
            merge.add(batches)
            if read == 0 { page.start = merge.cursor }
            let isFull = page.fill(&room, from: &merge)
            (page.next, page.missed, page.hasMore) = (merge.cursor, merge.missed, merge.hasMore)
            if isFull || !page.hasMore { break }
        }
        return page
    }

    /// Returns the cursor after the newest event of each app; nil if the store is unreachable.
    package func latest(of apps: [String]) async -> EventCursor? {
        let partitions = apps.flatMap { AppPartition.all(of: $0) }
        guard let newest = await log.newest(partitions, .events) else { return nil }
        return zip(partitions, newest).reduce(into: EventCursor()) { $0[$1.0] = $1.1 }
    }
}

private struct Room {
    private let types: Set<EventType>?
    private let includesSignedData: Bool
    private var count: Int
    private var bytes = EventReader.Limits.pageBytes
    private var isUnused = true

    init(_ request: EventReadRequest) {
        (types, includesSignedData) = (request.types, request.includesSignedData)
        count = request.maximumCount
    }

    /// The number of events to read. With a selection of types, many events may have to be read to find one event.
    var wanted: Int {
        types == nil ? min(count, EventReader.Limits.eventsPerRead) : EventReader.Limits.eventsPerRead
    }

    func isWanted(_ event: Event) -> Bool { types?.contains(event.type) ?? true }

    /// Returns false, and takes nothing, if the event does not fit.
    mutating func take(_ event: Event) -> Bool {
        let size = event.json.count + (includesSignedData ? event.signedData.count : 0)
        guard isUnused || count > 0 && size <= bytes else { return false }
        (count, bytes, isUnused) = (count - 1, bytes - size, false)
        return true
    }
}

extension MergedEventPage {
    /// Takes events while there is room; returns true if an event did not fit.
    fileprivate mutating func fill(_ room: inout Room, from merge: inout EventMerge) -> Bool {
        var isFull = false
        let accept = { (partition: AppPartition, logged: LoggedEvent) in
            guard room.isWanted(logged.event) else { return true }
            isFull = !room.take(logged.event)
            if !isFull {
                self.entries.append(Entry(partition: partition, position: logged.position, event: logged.event))
            }
            return !isFull
        }
        while merge.take(if: accept) {}
        return isFull
    }
}

/// Reads the events of several partitions one by one, in the order of writing.
package struct EventScan: Sendable {
    enum Limits {
        /// The entries of one partition that are read at once, about.
        static let entries = 100
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
