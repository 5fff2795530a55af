// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A point in the order of purges. A result of Apple's is kept with the point from before Apple was asked.
public struct PurgePosition: Hashable, Sendable {
    /// The history that numbers the purges. A shared store that lost purges begins another one.
    public let history: UInt64
    /// The number of the last purge up to here; 0 for none.
    public let number: UInt64
    /// The name of that purge. Another one may take the number of a purge that the shared store has lost.
    public let name: UInt64

    /// A point in a history.
    public init(history: UInt64, number: UInt64, name: UInt64 = 0) {
        self.history = history
        self.number = number
        self.name = name
    }

    /// The beginning of a process that knows of no shared history.
    public static let beginning = PurgePosition(history: 0, number: 0)
}

/// The newest purges, by original transaction.
///
/// A cached result is used only if none of the original transactions it names was purged after the result's position.
/// The history is bounded: a result from before the oldest purge that is kept is not used either, and so is a result
/// of another history. Whatever is lost makes a result useless, never valid again.
public struct PurgeHistory: Sendable {
    /// The bounds of a history.
    public enum Limits {
        /// The purges that are kept. At ten purges a second these are the last two hours.
        public static let purges = 65_536
    }

    private struct Purge {
        /// The hash of the transaction's ID. Two IDs with one hash cost a request to Apple.
        let hash: Int
        let name: UInt64
    }

    /// The point up to which purges are known.
    public private(set) var position: PurgePosition
    /// Purges up to this point are not known, or not known any more.
    private var horizon: PurgePosition
    /// The number of the last purge of an original transaction, by the hash of its ID.
    private var numbers: [Int: UInt64] = [:]
    /// The purges after `horizon`, as a ring: the first of them stands at `oldest`.
    private var ring: [Purge] = []
    private var oldest = 0
    private let capacity: Int

    /// A history of which the purges up to a point are not known.
    /// - Parameter start: the point. With number 0 nothing is missing.
    public init(from start: PurgePosition = .beginning, capacity: Int = Limits.purges) {
        position = start
        horizon = start
        self.capacity = max(1, capacity)
    }

    /// Adds the next purge.
    public mutating func append(_ originalTransactionID: String, name: UInt64 = 0) {
        let purge = Purge(hash: originalTransactionID.hashValue, name: name)
        position = PurgePosition(history: position.history, number: position.number + 1, name: name)
        if ring.count < capacity {
            ring.append(purge)
        } else {
            dropOldest()
            ring[oldest] = purge
            oldest = (oldest + 1) % capacity
        }
        numbers[purge.hash] = position.number
    }

    private mutating func dropOldest() {
        let dropped = ring[oldest]
        horizon = PurgePosition(history: horizon.history, number: horizon.number + 1, name: dropped.name)
        if numbers[dropped.hash] == horizon.number { numbers[dropped.hash] = nil }
    }

    /// Moves on to a purge without knowing those up to it: results from before it are of no use any more.
    public mutating func skip(to number: UInt64, name: UInt64 = 0) {
        self = PurgeHistory(
            from: PurgePosition(history: position.history, number: number, name: name), capacity: capacity)
    }

    /// Whether a result from `position` about these original transactions may be used.
    public func judge(
        _ position: PurgePosition, naming originalTransactionIDs: some Sequence<String>
    ) -> PurgeDecision {
        guard isKnown(position) else { return .unknown }
        guard position.number < self.position.number else { return .current }
        let isPurged = originalTransactionIDs.contains { (numbers[$0.hashValue] ?? 0) > position.number }
        return isPurged ? .purged : .current
    }

    /// Whether all purges after a point are known. A point ahead of this history was known to another node already.
    private func isKnown(_ point: PurgePosition) -> Bool {
        guard point.history == position.history, point.number >= horizon.number else { return false }
        guard point.number > horizon.number else { return point == horizon }
        guard point.number <= position.number else { return true }
        let place = Int(point.number - horizon.number - 1)
        return ring[(oldest + place) % ring.count].name == point.name
    }
}

/// The use of a cached result, as far as purges decide it.
public enum PurgeDecision: Hashable, Sendable {
    /// None of its original transactions was purged since.
    case current
    /// One of them was.
    case purged
    /// The purges since are not known.
    case unknown
}
