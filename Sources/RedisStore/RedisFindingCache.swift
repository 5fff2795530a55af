// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Redis
internal import Settings
internal import Synchronization

/// Keeps findings where all nodes find them, sealed, under names that tell nothing.
///
/// A finding is one `GET` and one `PTTL` in one round trip, with a `GET` of the last purge. Its age is what the store says has passed since it was
/// written, not the difference of two clocks: so a node whose clock is wrong neither misleads the others nor misses what
/// they found out.
///
/// What was found here stays in this process too: it is used while the store is away, and whoever finds the same octets
/// in the store again need not open them again.
final class RedisFindingCache: FindingCache {
    private let store: any RedisCommands
    private let names: FindingNames
    private let seal: StoreSeal
    private let policy: FreshnessPolicy
    private let clock: @Sendable () -> Timestamp
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let board: InvalidationBoard
    /// The purges of the fleet.
    let purges: RedisPurges
    /// By the name under the first key.
    private let spares: Mutex<Generations<String, Spare>>

    /// A finding that is kept here.
    private struct Spare {
        let known: KnownFinding
        /// What it was read from; nil if it was found out here and did not reach the store.
        let opened: Opened?
        /// Whether it is too large for the store, so that nobody else has it.
        let isAlone: Bool

        var byteCount: Int { known.byteCount + (opened?.sealed.count ?? 0) }
    }

    /// A value of the store's, and what was found in it. A class, because it is handed out for each look-up and never
    /// changes.
    private final class Opened: Sendable {
        let sealed: [UInt8]
        let stored: StoredFinding

        init(_ sealed: [UInt8], _ stored: StoredFinding) { (self.sealed, self.stored) = (sealed, stored) }

        /// Whether these are the octets it was opened from.
        func isOf(_ octets: [UInt8]) -> Bool {
            let sealed = sealed
            return sealed.span.equals(octets.span)
        }
    }

    /// - Parameters:
    ///   - store: Redis, or who stands in front of it.
    ///   - keys: what everything is named and sealed with.
    ///   - spareBytes: what copies for the time without the store may take.
    ///   - freshness: bounds what is believed about times.
    ///   - clock: the time.
    ///   - observe: told of everything that was of no use.
    init(
        store: any RedisCommands, keys: StoreKeys, spareBytes: Int, freshness: FreshnessPolicy = FreshnessPolicy(),
        clock: @escaping @Sendable () -> Timestamp, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.store = store
        names = FindingNames(keys: keys)
        seal = StoreSeal(keys: keys)
        board = InvalidationBoard()
        purges = RedisPurges(store, seal: seal, board: board, observe: observe)
        policy = freshness
        self.clock = clock
        self.observe = observe
        spares = Mutex(Generations(maximumBytes: spareBytes))
    }

    /// How things stand.
    func stamp(for key: CacheKey) -> InvalidationStamp { board.stamp(of: names.names(of: key)) }
}

// MARK: - Looking up

extension RedisFindingCache {
    /// Returns the finding: under several keys, the one that Apple was asked for last.
    func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) async -> FindingLookup {
        let names = names.names(of: key)
        let stamp = board.stamp(of: names)
        let found = await candidate(under: names, since: stamp)
        guard let known = found.finding, isUsable(known, naming: originalTransactionIDs) else {
            return FindingLookup(nil, stamp: stamp)
        }
        return FindingLookup(known, stamp: stamp, isDetached: found.isDetached)
    }

    private func isUsable(_ known: KnownFinding, naming originalTransactionIDs: [String]) -> Bool {
        switch purges.judge(known, naming: originalTransactionIDs) {
        case .current: return true
        case .purged: observe(.purged)
        case .unknown: observe(.purgesUnknown)
        }
        return false
    }

    /// The finding in the store, with all purges known; else the one that is kept here, whose purges may be missing.
    private func candidate(
        under names: [String], since stamp: InvalidationStamp
    ) async -> (finding: KnownFinding?, isDetached: Bool) {
        let replies = await store.send(
            names.flatMap { [RedisCommand("GET", key: .finding($0)), RedisCommand("PTTL", key: .finding($0))] }
                + [RedisPurges.readHead])
        guard case .success(let head)? = replies.last, let entries = entries(replies, for: names) else {
            return detached(names)
        }
        if !purges.isKnown(head) {
            guard await purges.catchUp() else { return detached(names) }
        }
        guard let latest = entries.max(by: { $0.spare.known.askedAt < $1.spare.known.askedAt }) else {
            return (spare(for: names).flatMap { $0.isAlone ? $0.known : nil }, false)
        }
        // By the name it has in the store: that is the one by which changes are announced.
        keep(latest.spare, for: latest.name, since: stamp)
        return (latest.spare.known, false)
    }

    private func detached(_ names: [String]) -> (finding: KnownFinding?, isDetached: Bool) {
        observe(.lookupFailed)
        return (spare(for: names)?.known, true)
    }

    /// Nil if a reply is missing.
    private func entries(
        _ replies: [Result<RedisValue, RedisError>], for names: [String]
    ) -> [(name: String, spare: Spare)]? {
        var found: [(name: String, spare: Spare)] = []
        for (index, name) in names.enumerated() {
            switch entry(replies.dropFirst(2 * index).prefix(2), for: name) {
            case .absent: continue
            case .found(let spare): found.append((name, spare))
            case .unreachable: return nil
            }
        }
        return found
    }

    private func keep(_ spare: Spare, for name: String, since stamp: InvalidationStamp) {
        spares.withLock { spares in
            // Who invalidates marks the board first: so this comes before, and is removed, or is not done.
            guard stamp.isUnchanged, spare.opened == nil || spares.find(name)?.opened !== spare.opened else { return }
            spares.insert(spare, for: name, byteCount: spare.byteCount)
        }
    }

    /// What was found out last of what lies under any of these names.
    private func spare(for names: [String]) -> Spare? {
        spares.withLock { spares in
            names.compactMap { spares.find($0) }.max { $0.known.askedAt < $1.known.askedAt }
        }
    }

    private enum Entry {
        case absent
        case found(Spare)
        case unreachable
    }

    private func entry(_ replies: ArraySlice<Result<RedisValue, RedisError>>, for name: String) -> Entry {
        guard case .success(let value) = replies.first, case .success(.integer(let remaining)) = replies.last,
            replies.count == 2
        else { return .unreachable }
        guard case .string(let sealed) = value else { return .absent }
        do throws(SharedCacheFault) {
            let opened = try open(sealed, for: name)
            let age = opened.stored.retention - .milliseconds(remaining)
            let known = try inOurTime(opened.stored.known, age: age)
            return .found(Spare(known: known, opened: opened, isAlone: false))
        } catch {
            observe(error)
            return .absent
        }
    }

    private func open(_ sealed: [UInt8], for name: String) throws(SharedCacheFault) -> Opened {
        if let opened = spares.withLock({ $0.find(name) })?.opened, opened.isOf(sealed) { return opened }
        let bytes: [UInt8]
        do throws(StoreSeal.Fault) {
            bytes = try seal.open(sealed, for: name)
        } catch {
            throw SharedCacheFault(error)
        }
        return Opened(sealed, try StoredFinding(bytes, policy: policy))
    }

    /// The finding with its times by this node's clock.
    private func inOurTime(_ known: KnownFinding, age: Duration) throws(SharedCacheFault) -> KnownFinding {
        let difference = known.askedAt.duration(to: clock().advanced(by: .zero - age))
        guard age >= .zero - Self.tolerance, age <= policy.longestRetention,
            difference.magnitude <= StoredFindingLimits.clockDifference
        else { throw .implausibleTimes }
        return difference.magnitude <= Self.tolerance ? known : known.moved(by: difference)
    }

    /// Clocks that differ by no more than this are the same; writing takes its time too.
    private static let tolerance: Duration = .seconds(1)
}

// MARK: - Keeping

extension RedisFindingCache {
    /// Keeps a finding for all nodes; one that is too large, or that the store does not take, for this one.
    func insert(_ finding: KnownFinding, for key: CacheKey) async {
        let names = names.names(of: key), stamp = board.stamp(of: names)
        let stored = StoredFinding(known: finding, retention: policy.retention(of: finding))
        guard let bytes = stored.bytes else { return }
        let isAlone = bytes.count > StoredFindingLimits.bytes
        if isAlone {
            observe(.tooLarge)
        } else {
            if case .success = await store.send([set(bytes, stored, for: names[0])]).first { return }
            observe(.insertFailed)
        }
        keep(Spare(known: finding, opened: nil, isAlone: isAlone), for: names[0], since: stamp)
    }

    private func set(_ bytes: [UInt8], _ stored: StoredFinding, for name: String) -> RedisCommand {
        RedisCommand(
            "SET", key: .finding(name), RedisWord(seal.seal(bytes, for: name)), "PX",
            RedisWord(stored.retention.wholeMilliseconds))
    }
}

// MARK: - Purging

extension RedisFindingCache {
    /// Makes every finding that names this original transaction useless, on all nodes.
    func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await purges.purge(originalTransactionID)
    }

    /// The purges that this node knows.
    var purgePosition: PurgePosition { purges.position }

    /// Judges a finding by the purges that this node knows.
    func judge(_ finding: KnownFinding, naming originalTransactionIDs: [String]) -> PurgeJudgement {
        purges.judge(finding, naming: originalTransactionIDs)
    }
}

// MARK: - Hearing of changes

extension RedisFindingCache {
    /// Redis announces that these keys have changed; those that are none of this cache's are passed over.
    func invalidate(keys: [[UInt8]]) {
        invalidate(names: keys.compactMap(FindingNames.name(inKey:)))
        if keys.contains(RedisPurges.head.bytes) { purges.announce() }
    }

    /// Findings with these names have changed.
    func invalidate(names: [String]) {
        for name in names { board.invalidate(name) }
        spares.withLock { spares in
            for name in names { spares.remove(name) }
        }
    }

    /// Changes may have been missed. Copies stay: they are judged by the purges when they are used.
    func flushed() {
        board.invalidateAll()
        purges.announce()
    }
}
