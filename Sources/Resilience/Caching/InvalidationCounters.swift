// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Detects that a cached answer may be out of date, without knowing the caches.
///
/// Each name maps to one of a fixed number of counters, which each change under that name increments. A cache takes a
/// version *before* its look-up, stores it with the result, and skips the result once the version is out of date. So a
/// change between look-up and storing is not missed. Two names that share a counter cost an extra look-up at most.
package final class InvalidationCounters: Sendable {
    /// The number of counters. A node that learns of 1,000 changes a second loses at most a quarter of its cached
    /// answers in a second. Frequently used answers are looked up again.
    package static let slotCount = 4096

    private let counters = InlineArray<4096, Atomic<UInt64>> { _ in Atomic(0) }
    private let epoch = Atomic<UInt64>(0)
    /// The numbers of changes that were announced, and that were looked up.
    private let announced = Atomic<UInt64>(0)
    private let resolved = Atomic<UInt64>(0)

    package init() {}

    package func invalidate(_ name: some Hashable) {
        counters[Self.slot(of: name)].add(1, ordering: .releasing)
    }

    /// Invalidates all answers: changes may have been missed.
    package func invalidateAll() {
        epoch.add(1, ordering: .releasing)
    }

    /// Announces a change that is still to be looked up. Until it is resolved, no version is current.
    package func announceChange() { announced.add(1, ordering: .sequentiallyConsistent) }

    /// The number of changes announced so far, to be read before they are looked up.
    package var announcements: UInt64 { announced.load(ordering: .sequentiallyConsistent) }

    /// Marks the changes up to `announcements` as known, or as impossible to look up.
    package func resolve(upTo announcements: UInt64) {
        resolved.max(announcements, ordering: .sequentiallyConsistent)
    }

    fileprivate var isBehind: Bool {
        resolved.load(ordering: .acquiring) < announced.load(ordering: .acquiring)
    }

    /// Returns the present version of these names, to be taken before they are looked up.
    package func version(of names: some Sequence<some Hashable>) -> InvalidationVersion {
        let slots = names.map { UInt16(Self.slot(of: $0)) }
        return InvalidationVersion(counters: self, slots: slots, count: count(of: slots), epoch: currentEpoch)
    }

    /// Returns the present version of what names these transactions.
    package func version(watching ids: [String]) -> InvalidationVersion { version(of: [String]()).watching(ids) }

    fileprivate var currentEpoch: UInt64 { epoch.load(ordering: .acquiring) }

    /// Counters only grow, so an unchanged sum means that each counter is unchanged.
    fileprivate func count(of slots: [UInt16]) -> UInt64 {
        slots.reduce(0) { $0 &+ counters[Int($1)].load(ordering: .acquiring) }
    }

    private static func slot(of name: some Hashable) -> Int {
        Int(UInt(bitPattern: name.hashValue) % UInt(slotCount))
    }
}

// MARK: - Purges

extension InvalidationCounters {
    /// The maximum number of IDs watched one by one: ten years of monthly renewals. An answer with more IDs is out of
    /// date with any purge.
    static let watchedTransactions = 128

    /// The name of all transactions together.
    private enum AnyPurge: Hashable { case name }

    package func invalidate(_ purge: Purge) {
        // Which answers are of an app is not known here: all are looked up again.
        if purge.isOfAll { return invalidateAll() }
        invalidate(purge.id)
        invalidate(AnyPurge.name)
    }

    fileprivate func slots(ofPurges ids: [String]) -> [UInt16] {
        guard ids.count <= Self.watchedTransactions else {
            return [UInt16(Self.slot(of: AnyPurge.name))]
        }
        return ids.map { UInt16(Self.slot(of: $0)) }
    }
}

/// The state of the counters at the time of a look-up.
package struct InvalidationVersion: Sendable {
    fileprivate let counters: InvalidationCounters
    fileprivate var slots: [UInt16]
    fileprivate var count: UInt64
    fileprivate let epoch: UInt64
    fileprivate var isOutOfDate = false

    /// True if nothing has changed since and no change is being looked up.
    package var isCurrent: Bool { !isOutOfDate && epoch == counters.currentEpoch && isUnchanged && !counters.isBehind }

    /// The version of a result that must not be used again.
    package var outOfDate: InvalidationVersion {
        var version = self
        version.isOutOfDate = true
        return version
    }

    /// Returns this version, extended to purges of these transactions from now on.
    package func watching(_ ids: [String]) -> InvalidationVersion {
        let added = counters.slots(ofPurges: ids)
        var version = self
        version.slots += added
        version.count &+= counters.count(of: added)
        return version
    }

    /// Returns the version of both look-ups together.
    package func joined(with other: InvalidationVersion) -> InvalidationVersion {
        var version = InvalidationVersion(
            counters: counters, slots: slots + other.slots, count: count &+ other.count, epoch: epoch)
        version.isOutOfDate = isOutOfDate || other.isOutOfDate || epoch != other.epoch
        return version
    }

    /// True if no counter has changed since, even if changes may have been missed.
    package var isUnchanged: Bool { count == counters.count(of: slots) }
}
