// SPDX-License-Identifier: Apache-2.0

/// A position in the order of purges. A cached result keeps the position from before its request to Apple.
package struct PurgePosition: Hashable, Sendable {
    /// The history that numbers the purges. A shared store that lost purges starts a new history.
    package let history: UInt64
    /// The number of the last purge up to this position; 0 for none.
    package let number: UInt64
    /// The name of that purge: after a loss, the shared store may give its number to another purge.
    package let name: UInt64

    package init(history: UInt64, number: UInt64, name: UInt64 = 0) {
        self.history = history
        self.number = number
        self.name = name
    }

    /// The position of a process without a shared history.
    package static let beginning = PurgePosition(history: 0, number: 0)
}

/// The invalidation of all cached results that name a transaction by one ID.
package struct Purge: Hashable, Sendable {
    /// A transaction ID, an original transaction ID, or the ID of an app transaction.
    package let id: String
    /// The app whose results are invalidated; nil for all apps.
    package let bundleID: String?

    package init(_ id: String, in bundleID: String? = nil) { (self.id, self.bundleID) = (id, bundleID) }

    /// Returns the invalidation of all results of an app.
    package static func all(of bundleID: String) -> Purge { Purge(everyID, in: bundleID) }

    package var isOfAll: Bool { id == Self.everyID }

    /// No transaction has it.
    private static let everyID = "*"
}

/// The newest purges.
///
/// A cached result is used only if none of the IDs in it was purged after the result's position. The history is bounded:
/// a result is not used either if it is older than the oldest purge kept, or of another history. So a loss can
/// invalidate a result, and never makes it valid again.
package struct PurgeHistory: Sendable {
    package enum Limits {
        /// The number of purges kept: almost two hours at ten purges a second.
        package static let purges = 65_536
    }

    private struct Entry {
        /// The hash of the purge. A collision costs a request to Apple.
        let hash: Int
        let name: UInt64
    }

    /// The position up to which purges are known.
    package private(set) var position: PurgePosition
    /// The position up to which purges are unknown or dropped.
    private var horizon: PurgePosition
    /// The number of the last purge of each ID and app, by the hash of both.
    private var numbers: [Int: UInt64] = [:]
    /// The purges after `horizon`, as a ring that begins at `oldest`.
    private var ring: [Entry] = []
    private var oldest = 0
    private let capacity: Int

    /// Creates a history in which the purges up to a position are unknown.
    /// - Parameter start: the position. With number 0 nothing is missing.
    package init(from start: PurgePosition = .beginning, capacity: Int = Limits.purges) {
        position = start
        horizon = start
        self.capacity = max(1, capacity)
    }

    package mutating func append(_ purge: Purge, name: UInt64 = 0) {
        let entry = Entry(hash: purge.hashValue, name: name)
        position = PurgePosition(history: position.history, number: position.number + 1, name: name)
        if ring.count < capacity {
            ring.append(entry)
        } else {
            dropOldest()
            ring[oldest] = entry
            oldest = (oldest + 1) % capacity
        }
        numbers[entry.hash] = position.number
    }

    private mutating func dropOldest() {
        let dropped = ring[oldest]
        horizon = PurgePosition(history: horizon.history, number: horizon.number + 1, name: dropped.name)
        if numbers[dropped.hash] == horizon.number { numbers[dropped.hash] = nil }
    }

    /// Skips to a purge; earlier purges are unknown, so results from before it are not used any more.
    package mutating func skip(to number: UInt64, name: UInt64 = 0) {
        self = PurgeHistory(
            from: PurgePosition(history: position.history, number: number, name: name), capacity: capacity)
    }

    /// Returns true if all purges after this number are kept.
    package func isComplete(after number: UInt64) -> Bool { horizon.number <= number }

    /// Returns true if any kept purge names any of these IDs of an app.
    package func names(_ ids: some Sequence<String>, in bundleID: String?) -> Bool {
        arePurged(ids, in: bundleID, after: 0)
    }

    /// Returns the number of the last kept purge of this ID itself, for all apps or for this app; 0 for none.
    package func lastPurge(of id: String, in bundleID: String?) -> UInt64 {
        max(last(Purge(id)), bundleID.map { last(Purge(id, in: $0)) } ?? 0)
    }

    private func last(_ purge: Purge) -> UInt64 { numbers[purge.hashValue] ?? 0 }

    /// Decides if an app's result from `position` that names these IDs may be used.
    package func purgeDecision(
        for position: PurgePosition, naming ids: some Sequence<String>, in bundleID: String?
    ) -> PurgeDecision {
        guard isKnown(position) else { return .unknown }
        guard position.number < self.position.number else { return .current }
        return arePurged(ids, in: bundleID, after: position.number) ? .purged : .current
    }

    /// Returns true if a purge after this number names any of these IDs (for all apps or this app) or all results of
    /// this app.
    private func arePurged(_ ids: some Sequence<String>, in bundleID: String?, after number: UInt64) -> Bool {
        if numbers.isEmpty { return false }
        if let bundleID, last(.all(of: bundleID)) > number { return true }
        return ids.contains { lastPurge(of: $0, in: bundleID) > number }
    }

    /// Returns true if all purges after a position are known. A position ahead of this history comes from another node.
    private func isKnown(_ point: PurgePosition) -> Bool {
        guard point.history == position.history, point.number >= horizon.number else { return false }
        guard point.number > horizon.number else { return point == horizon }
        guard point.number <= position.number else { return true }
        let place = Int(point.number - horizon.number - 1)
        return ring[(oldest + place) % ring.count].name == point.name
    }
}

/// The purges of some IDs since a time, as far as they are known.
package enum KnownPurge: Hashable, Sendable {
    case none
    /// At least one purge, of any time.
    case named
    /// The purges since that time are not all known.
    case unknown
}

/// The decision about a cached result, as far as purges matter.
package enum PurgeDecision: Hashable, Sendable {
    case current
    case purged
    /// The purges since are not known.
    case unknown
}
