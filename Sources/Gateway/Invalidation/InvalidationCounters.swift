// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells answers that were kept here from what may have changed since, without knowing who kept what.
///
/// Each name has a place among a fixed number of counters, and whoever learns that something changed adds one to its
/// counter. Who looks something up takes a stamp *before*, keeps it with what was found, and passes it over once the
/// stamp is out of date. So a change that comes between the look-up and the keeping is not missed, and two names that
/// share a counter cost a look-up at most.
public final class InvalidationCounters: Sendable {
    /// How many counters there are: a node that hears of a thousand changes a second loses a quarter of what it keeps in
    /// a second at most, and its share of names that are asked again and again is looked up again.
    public static let slotCount = 4096

    private let counters = InlineArray<4096, Atomic<UInt64>> { _ in Atomic(0) }
    private let epoch = Atomic<UInt64>(0)
    /// The announcements of changes that are not known yet, and those that were looked up.
    private let announced = Atomic<UInt64>(0)
    private let resolved = Atomic<UInt64>(0)

    /// Nothing has changed yet.
    public init() {}

    /// What is kept under this name may have changed.
    public func invalidate(_ name: some Hashable) {
        counters[Self.slot(of: name)].add(1, ordering: .releasing)
    }

    /// Anything may have changed: whoever tells of changes was not heard for a while.
    public func invalidateAll() {
        epoch.add(1, ordering: .releasing)
    }

    /// Something has changed, and what it is will be looked up. Until then no stamp is current.
    public func announceChange() { announced.add(1, ordering: .sequentiallyConsistent) }

    /// The changes that were announced so far, to be taken before they are looked up.
    public var announcements: UInt64 { announced.load(ordering: .sequentiallyConsistent) }

    /// The changes announced up to `announcements` are known, or cannot be.
    public func resolve(upTo announcements: UInt64) {
        resolved.max(announcements, ordering: .sequentiallyConsistent)
    }

    fileprivate var isBehind: Bool {
        resolved.load(ordering: .acquiring) < announced.load(ordering: .acquiring)
    }

    /// The present state of these names, to be taken before they are looked up.
    public func version(of names: some Sequence<some Hashable>) -> InvalidationVersion {
        let slots = names.map { UInt16(Self.slot(of: $0)) }
        return InvalidationVersion(counters: self, slots: slots, count: count(of: slots), epoch: currentEpoch)
    }

    fileprivate var currentEpoch: UInt64 { epoch.load(ordering: .acquiring) }

    /// Counters only grow: the sum is the same only if each is.
    fileprivate func count(of slots: [UInt16]) -> UInt64 {
        slots.reduce(0) { $0 &+ counters[Int($1)].load(ordering: .acquiring) }
    }

    private static func slot(of name: some Hashable) -> Int {
        Int(UInt(bitPattern: name.hashValue) % UInt(slotCount))
    }
}

// MARK: - Purges

extension InvalidationCounters {
    /// The original transactions that are watched one by one. An answer about more of them is out of date with any purge.
    static let watchedTransactions = 32

    /// The name of all original transactions together.
    private enum AnyPurge: Hashable { case name }

    /// Answers about this original transaction may have changed.
    public func invalidate(originalTransactionID: String) {
        invalidate(originalTransactionID)
        invalidate(AnyPurge.name)
    }

    fileprivate func slots(ofPurges originalTransactionIDs: [String]) -> [UInt16] {
        guard originalTransactionIDs.count <= Self.watchedTransactions else {
            return [UInt16(Self.slot(of: AnyPurge.name))]
        }
        return originalTransactionIDs.map { UInt16(Self.slot(of: $0)) }
    }
}

/// How things stood when something was looked up.
public struct InvalidationVersion: Sendable {
    private let counters: InvalidationCounters
    private let slots: [UInt16]
    private let count: UInt64
    private let epoch: UInt64
    /// Whether what was looked up was out of date already.
    private var isOutOfDate = false

    fileprivate init(counters: InvalidationCounters, slots: [UInt16], count: UInt64, epoch: UInt64) {
        self.counters = counters
        self.slots = slots
        self.count = count
        self.epoch = epoch
    }

    /// Whether nothing has changed since, and no change is being looked up.
    public var isCurrent: Bool { !isOutOfDate && epoch == counters.currentEpoch && isUnchanged && !counters.isBehind }

    /// The stamp of something that is not to be used again.
    var outOfDate: InvalidationVersion {
        var version = self
        version.isOutOfDate = true
        return version
    }

    /// The same, out of date also once one of these original transactions is purged from now on.
    func watching(_ originalTransactionIDs: [String]) -> InvalidationVersion {
        let added = counters.slots(ofPurges: originalTransactionIDs)
        return InvalidationVersion(
            counters: counters, slots: slots + added, count: count &+ counters.count(of: added), epoch: epoch)
    }

    /// The same, whether or not changes could be heard of all the time.
    public var isUnchanged: Bool { count == counters.count(of: slots) }
}
