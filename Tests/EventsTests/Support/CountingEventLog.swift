// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization

@testable import Customers

/// A log that counts its round trips, and may be unreachable.
final class CountingLog: EventLog {
    struct Counts: Sendable {
        var reads = 0
        var looks = 0
        /// The partitions of the latest look at the newest positions.
        var looked: [AppPartition] = []
        /// The most events that one round trip asked for.
        var mostWanted = 0
        /// The round trips after which the store is unreachable.
        var readsUntilOutage = Int.max
    }

    private let log: any EventLog
    private let state = Mutex(Counts())

    init(_ log: any EventLog, readsUntilOutage: Int = .max) {
        self.log = log
        state.withLock { $0.readsUntilOutage = readsUntilOutage }
    }

    var counts: Counts { state.withLock { $0 } }

    func read(_ queries: [EventQuery]) async -> [EventBatch]? {
        let isReachable = state.withLock { counts in
            counts.reads += 1
            counts.mostWanted = max(counts.mostWanted, queries.reduce(0) { $0 + $1.maximum })
            return counts.reads <= counts.readsUntilOutage
        }
        return isReachable ? await log.read(queries) : nil
    }

    func newest(_ partitions: [AppPartition], _ stream: EventStream) async -> [EventPosition]? {
        let isReachable = state.withLock { counts in
            counts.looks += 1
            counts.looked = partitions
            return counts.reads < counts.readsUntilOutage
        }
        return isReachable ? await log.newest(partitions, stream) : nil
    }

    func event(
        at position: EventPosition, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> Event? {
        try await log.event(at: position, in: partition, stream)
    }

    func position(
        before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> EventPosition {
        try await log.position(before: milliseconds, in: partition, stream)
    }
}

/// Logs of events with numbers, whose time is set by the test.
final class NumberedEvents: Sendable {
    static let app = "com.example.one"
    static let otherApp = "com.example.two"

    let log: EmbeddedEventLog
    private let time = Time()

    private final class Time: Sendable {
        let now = Mutex<Int64>(1_000_000)
    }

    init(maximumCount: Int = 1 << 20, maximumAge: Duration = .seconds(86_400)) {
        log = EmbeddedEventLog(EventRetention(maximumCount: maximumCount, maximumAge: maximumAge)) { [time] in
            Timestamp(millisecondsSince1970: time.now.withLock { $0 })
        }
    }

    func pass(_ milliseconds: Int64) { time.now.withLock { $0 += milliseconds } }

    /// Adds an event of a chain, a millisecond after the one before.
    @discardableResult
    func add(
        _ number: Int, chain: Int? = nil, app: String = app, type: EventType = .subscriptionRenewed, bytes: Int = 0
    ) -> Event {
        pass(1)
        let id = "evt_\(number)"
        let filler = String(repeating: "x", count: bytes)
        let event = Event(
            id: id, type: type, bundleID: app, environment: .production,
            originalTransactionID: String(chain ?? number), occurredAt: Timestamp(millisecondsSince1970: 0),
            json: Array(#"{"id":"\#(id)","data":"\#(filler)"}"#.utf8))
        log.append(event, to: .events, of: event.partition)
        return event
    }
}
