// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts

/// The place of an event in the log of its partition.
package struct EventPosition: Hashable, Sendable, Comparable {
    /// The time of writing, in milliseconds since 1970 by the clock of the store, and a counter within it.
    package var milliseconds: UInt64
    package var counter: UInt64
    /// The number of the event in its partition, from 1, without gaps; 0 if it is unknown.
    package var number: UInt64

    package enum Limits {
        /// The largest number that is read from a client or from Redis: no arithmetic on positions overflows.
        package static let number: UInt64 = 1 << 53
    }

    package init(milliseconds: UInt64, counter: UInt64, number: UInt64) {
        (self.milliseconds, self.counter, self.number) = (milliseconds, counter, number)
    }

    package var time: Timestamp { Timestamp(millisecondsSince1970: Int64(clamping: milliseconds)) }

    /// The position before the oldest event.
    package static let start = EventPosition(milliseconds: 0, counter: 0, number: 0)

    /// Returns the position after all events of a millisecond. No event has it.
    /// - Parameter number: the number of the last of them; 0 if it is unknown.
    package static func end(of milliseconds: UInt64, number: UInt64) -> EventPosition {
        EventPosition(milliseconds: milliseconds, counter: Limits.number, number: number)
    }

    /// True if an event with a known number was read at this position.
    package var isOfEntry: Bool { number > 0 && counter < Limits.number && self > .start }

    package static func < (one: Self, other: Self) -> Bool {
        (one.milliseconds, one.counter) < (other.milliseconds, other.counter)
    }
}

package struct LoggedEvent: Hashable, Sendable {
    package var position: EventPosition
    package var event: Event

    package init(_ event: Event, at position: EventPosition) {
        (self.event, self.position) = (event, position)
    }
}

/// A log of one partition. The raw values are part of keys.
package enum EventStream: String, CaseIterable, Hashable, Sendable {
    case events
    /// The bodies that Apple posted, unchanged: `Event.json` is the body, and the ID is made of the notification's.
    case relay
}

/// A request for the events of one partition after a position.
package struct EventQuery: Hashable, Sendable {
    package var partition: AppPartition
    package var stream: EventStream
    package var after: EventPosition
    package var maximum: Int

    package init(_ partition: AppPartition, _ stream: EventStream = .events, after: EventPosition, maximum: Int) {
        (self.partition, self.stream, self.after, self.maximum) = (partition, stream, after, maximum)
    }
}

package struct EventBatch: Hashable, Sendable {
    /// In order, oldest first.
    package var events: [LoggedEvent]
    /// The position of the last entry that was read, even if the entry cannot be decrypted. If there is none: the
    /// newest position of the log, which may no longer have that entry, or `after` if that is later and was not lost.
    package var last: EventPosition
    /// The events between `after` and the first of these that the log no longer has; nil if there are none.
    package var missed: MissedEvents?
    /// The entries that could not be decrypted or read, and were passed over.
    package var unreadable = 0
    /// True if the log has entries after `last`.
    package var hasMore = false

    package init(
        events: [LoggedEvent], last: EventPosition, missed: MissedEvents? = nil, unreadable: Int = 0,
        hasMore: Bool = false
    ) {
        (self.events, self.last, self.missed) = (events, last, missed)
        (self.unreadable, self.hasMore) = (unreadable, hasMore)
    }
}

/// Events that a reader missed, because the log no longer has them.
package struct MissedEvents: Hashable, Sendable {
    /// Their number; nil if it is unknown, because the store lost the log or its end.
    package var count: UInt64?

    package init(count: UInt64?) { self.count = count }
}

/// The events of all apps, each in the log of its partition.
package protocol EventLog: Sendable {
    /// Reads several partitions in one round trip.
    /// - Returns: a batch for each query, in order; nil if the store is unreachable.
    func read(_ queries: [EventQuery]) async -> [EventBatch]?

    /// Returns the newest position of each partition, `.start` without events; nil if the store is unreachable.
    func newest(_ partitions: [AppPartition], _ stream: EventStream) async -> [EventPosition]?

    /// Returns the event at this position; nil if the log no longer has it.
    /// - Throws: if the store is unreachable.
    func event(at position: EventPosition, in partition: AppPartition, _ stream: EventStream)
        async throws(StoreUnreachable) -> Event?

    /// Returns the position before the first event written at or after a time, in milliseconds since 1970.
    func position(before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream)
        async throws(StoreUnreachable) -> EventPosition
}

package struct EventRetention: Hashable, Sendable {
    /// The events of one app that are kept at most, the newest.
    package var maximumCount: Int
    package var maximumAge: Duration
    /// The bytes of one app's relayed notifications that are kept at most, the newest.
    package var maximumRelayBytes: Int

    package init(maximumCount: Int, maximumAge: Duration, maximumRelayBytes: Int = 1 << 30) {
        (self.maximumCount, self.maximumAge) = (maximumCount, maximumAge)
        self.maximumRelayBytes = maximumRelayBytes
    }

    package var maximumCountOfPartition: Int { max(1, maximumCount / AppPartition.count) }

    package var maximumRelayBytesOfPartition: Int { max(1, maximumRelayBytes / AppPartition.count) }
}

/// Writes events that belong to no notification.
package protocol EventWriter: Sendable {
    /// Adds an event to the log of its partition. It may be added twice with the same ID.
    func append(_ event: Event) async throws(StoreUnreachable)
}

/// The log of events: `GET /v1/events`, and webhooks.
package struct EventsConfiguration: Hashable, Sendable {
    package var retention = EventRetention(maximumCount: 100_000, maximumAge: .seconds(7 * 86_400))
    package var rules = EventRules()

    package init() {}
}

/// The settings of the events that changes make.
package struct EventRules: Hashable, Sendable {
    /// True to keep what Apple signed with each event, for those who request it.
    package var keepsSignedData = false
    /// The time after the end of a period at which a subscription without other news counts as expired.
    package var expiryDelay: Duration = .seconds(3600)

    package init() {}
}

/// A part of an app's notifications, states and events, whose keys are on one node of a Redis cluster.
package struct AppPartition: Hashable, Sendable {
    /// The number of partitions of each app. A change would lose all that is stored: it is part of the stored form.
    package static let count = 8

    package let bundleID: String
    /// From 0 to below `count`.
    package let number: Int

    /// Returns the partition of what has this ID: an original transaction, or a notification about none.
    package init(bundleID: String, of id: String) {
        self.bundleID = bundleID
        // Independent of any key: the partition must not change with the keys of Redis.
        number = Int(Fingerprint(of: Array(id.utf8).span).fraction * Double(Self.count))
    }

    package init(bundleID: String, number: Int) { (self.bundleID, self.number) = (bundleID, number) }

    package static func all(of bundleID: String) -> [AppPartition] {
        (0..<count).map { AppPartition(bundleID: bundleID, number: $0) }
    }
}

extension PurchaseChain {
    package var partition: AppPartition { AppPartition(bundleID: bundleID, of: originalTransactionID) }
}
