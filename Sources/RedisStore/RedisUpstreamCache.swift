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
final class RedisUpstreamCache: UpstreamCache {
    private let store: any RedisCommands
    private let names: SharedCacheNames
    private let seal: StoreSeal
    private let policy: FreshnessPolicy
    private let clock: @Sendable () -> Timestamp
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let counters: InvalidationCounters
    /// The purges of the fleet.
    let purges: RedisPurges
    /// By the name under the first key.
    private let spares: Mutex<Generations<String, Spare>>

    /// A finding that is kept here.
    private struct Spare {
        let known: CachedResult
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
        let stored: StoredResult

        init(_ sealed: [UInt8], _ stored: StoredResult) { (self.sealed, self.stored) = (sealed, stored) }

        /// Whether these are the octets it was opened from.
        func isOf(_ bytes: [UInt8]) -> Bool {
            let sealed = sealed
            return sealed.span.equals(bytes.span)
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
        names = SharedCacheNames(keys: keys)
        seal = StoreSeal(keys: keys)
        counters = InvalidationCounters()
        purges = RedisPurges(store, seal: seal, counters: counters, observe: observe)
        policy = freshness
        self.clock = clock
        self.observe = observe
        spares = Mutex(Generations(maximumBytes: spareBytes))
    }

    /// How things stand.
    func version(for key: CacheKey) -> InvalidationVersion { counters.version(of: names.names(of: key)) }
}

// MARK: - Looking up

extension RedisUpstreamCache {
    /// Returns the finding: under several keys, the one that Apple was asked for last.
    func lookUp(_ key: CacheKey, naming originalTransactionIDs: [String]) async -> CacheLookup {
        let names = names.names(of: key)
        let version = counters.version(of: names)
        let found = await candidate(under: names, since: version)
        guard let known = found.result, isUsable(known, naming: originalTransactionIDs) else {
            return CacheLookup(nil, version: version)
        }
        return CacheLookup(known, version: version, isDetached: found.isDetached)
    }

    private func isUsable(_ known: CachedResult, naming originalTransactionIDs: [String]) -> Bool {
        switch purges.judge(known, naming: originalTransactionIDs) {
        case .current: return true
        case .purged: observe(.purged)
        case .unknown: observe(.purgesUnknown)
        }
        return false
    }

    /// The finding in the store, with all purges known; else the one that is kept here, whose purges may be missing.
    private func candidate(
        under names: [String], since version: InvalidationVersion
    ) async -> (result: CachedResult?, isDetached: Bool) {
        let replies = await store.send(
            names.flatMap { [RedisCommand("GET", key: .result($0)), RedisCommand("PTTL", key: .result($0))] }
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
        keep(latest.spare, for: latest.name, since: version)
        return (latest.spare.known, false)
    }

    private func detached(_ names: [String]) -> (result: CachedResult?, isDetached: Bool) {
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

    private func keep(_ spare: Spare, for name: String, since version: InvalidationVersion) {
        spares.withLock { spares in
            // Who invalidates marks the board first: so this comes before, and is removed, or is not done.
            guard version.isUnchanged, spare.opened == nil || spares.find(name)?.opened !== spare.opened else { return }
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
        return Opened(sealed, try StoredResult(bytes, policy: policy))
    }

    /// The finding with its times by this node's clock.
    private func inOurTime(_ known: CachedResult, age: Duration) throws(SharedCacheFault) -> CachedResult {
        let difference = known.askedAt.duration(to: clock().advanced(by: .zero - age))
        guard age >= .zero - Self.tolerance, age <= policy.longestRetention,
            difference.magnitude <= StoredResultLimits.clockDifference
        else { throw .implausibleTimes }
        return difference.magnitude <= Self.tolerance ? known : known.moved(by: difference)
    }

    /// Clocks that differ by no more than this are the same; writing takes its time too.
    private static let tolerance: Duration = .seconds(1)
}

// MARK: - Keeping

extension RedisUpstreamCache {
    /// Keeps a finding for all nodes; one that is too large, or that the store does not take, for this one.
    func insert(_ result: CachedResult, for key: CacheKey) async {
        let names = names.names(of: key), version = counters.version(of: names)
        let stored = StoredResult(known: result, retention: policy.retention(of: result))
        guard let bytes = stored.bytes else { return }
        let isAlone = bytes.count > StoredResultLimits.bytes
        if isAlone {
            observe(.tooLarge)
        } else {
            if case .success = await store.send([set(bytes, stored, for: names[0])]).first { return }
            observe(.insertFailed)
        }
        keep(Spare(known: result, opened: nil, isAlone: isAlone), for: names[0], since: version)
    }

    private func set(_ bytes: [UInt8], _ stored: StoredResult, for name: String) -> RedisCommand {
        RedisCommand(
            "SET", key: .result(name), RedisWord(seal.seal(bytes, for: name)), "PX",
            RedisWord(stored.retention.wholeMilliseconds))
    }
}

// MARK: - Purging

extension RedisUpstreamCache {
    /// Makes every finding that names this original transaction useless, on all nodes.
    func purge(originalTransactionID: String) async throws(StoreUnreachable) {
        try await purges.purge(originalTransactionID)
    }

    /// The purges that this node knows.
    var purgePosition: PurgePosition { purges.position }

    /// Judges a finding by the purges that this node knows.
    func judge(_ result: CachedResult, naming originalTransactionIDs: [String]) -> PurgeDecision {
        purges.judge(result, naming: originalTransactionIDs)
    }
}

// MARK: - Hearing of changes

extension RedisUpstreamCache {
    /// Redis announces that these keys have changed; those that are none of this cache's are passed over.
    func invalidate(keys: [[UInt8]]) {
        invalidate(names: keys.compactMap(SharedCacheNames.name(inKey:)))
        if keys.contains(RedisPurges.head.bytes) { purges.announce() }
    }

    /// Findings with these names have changed.
    func invalidate(names: [String]) {
        for name in names { counters.invalidate(name) }
        spares.withLock { spares in
            for name in names { spares.remove(name) }
        }
    }

    /// Changes may have been missed. Copies stay: they are judged by the purges when they are used.
    func flushed() {
        counters.invalidateAll()
        purges.announce()
    }
}
