// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts
internal import Redis
internal import Resilience
internal import Synchronization

/// The shared cache of upstream results in Redis, encrypted under pseudonymous names.
///
/// A lookup sends `GET` and `PTTL` of the entry and `GET` of the purge head in one round trip. The entry's age is the
/// time Redis measured since the write, not the difference of two clocks. A node with a wrong clock neither misleads
/// other nodes nor misses their results.
///
/// Results are also kept in this process, for use while Redis is unavailable and to avoid decrypting the same bytes
/// again.
final class RedisUpstreamCache: UpstreamCache {
    private let store: any RedisCommands
    private let names: EntryNames
    private let seal: StoreSeal
    private let policy = FreshnessPolicy()
    private let clock: @Sendable () -> Timestamp
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let counters: InvalidationCounters
    let redisPurges: RedisPurges
    /// By the name under the first key.
    private let localCopies: Mutex<S3FIFOCache<String, LocalCopy>>

    private struct LocalCopy {
        let known: CachedResult
        /// The stored value it was read from; nil for a result of this node that did not reach Redis.
        let opened: Opened?
        /// True if it is too large for Redis, so that no other node has it.
        let isLocalOnly: Bool

        var byteCount: Int { known.byteCount + (opened?.sealed.count ?? 0) }
    }

    /// A decrypted value. A class, because each lookup returns it and never changes it.
    private final class Opened: Sendable {
        let sealed: [UInt8]
        /// By the writer's clock.
        let known: CachedResult
        let retention: Duration

        init(_ sealed: [UInt8], _ stored: StoredResult) {
            (self.sealed, known, retention) = (sealed, stored.known, stored.retention)
        }

        func isOf(_ bytes: [UInt8]) -> Bool {
            let sealed = sealed
            return sealed.span.equals(bytes.span)
        }
    }

    init(
        store: any RedisCommands, keys: StoreKeys, localBytes: Int,
        clock: @escaping @Sendable () -> Timestamp, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.store = store
        names = EntryNames(keys)
        seal = StoreSeal(keys: keys)
        counters = InvalidationCounters()
        redisPurges = RedisPurges(store, seal: seal, counters: counters, clock: clock, observe: observe)
        self.clock = clock
        self.observe = observe
        localCopies = Mutex(S3FIFOCache(maximumBytes: localBytes))
    }

    func version(for key: CacheKey) -> InvalidationVersion { counters.version(of: names.names(of: key)) }

    var purges: any ResultPurges { redisPurges }

    // MARK: - Looking up

    /// Returns the cached result; under several keys, the newest.
    func lookUp(_ key: CacheKey, naming ids: [String]) async -> CacheLookup {
        let names = names.names(of: key)
        let version = counters.version(of: names)
        let found = await candidate(under: names, since: version)
        guard let known = found.result, isUsable(known, naming: ids, in: key.bundleID) else {
            return CacheLookup(nil, version: version)
        }
        return CacheLookup(known, version: version, isDetached: found.isDetached)
    }

    private func isUsable(_ known: CachedResult, naming ids: [String], in bundleID: String?) -> Bool {
        switch redisPurges.decision(for: known, naming: ids, in: bundleID) {
        case .current: return true
        case .purged: observe(.purged)
        case .unknown: observe(.purgesUnknown)
        }
        return false
    }

    /// Returns the result in Redis, with all purges known; otherwise the local copy, whose purges may be missing.
    private func candidate(
        under names: [String], since version: InvalidationVersion
    ) async -> (result: CachedResult?, isDetached: Bool) {
        let replies = await store.send(
            names.flatMap { [RedisCommand("GET", key: .result($0)), RedisCommand("PTTL", key: .result($0))] }
                + [RedisPurges.readHead])
        guard case .success(let head)? = replies.last, let entries = entries(replies, for: names) else {
            return detached(names)
        }
        if !redisPurges.isKnown(head) {
            guard await redisPurges.catchUp() else { return detached(names) }
        }
        let own = copy(for: names).flatMap { $0.isLocalOnly ? $0.known : nil }
        guard let latest = entries.max(by: { $0.copy.known.fetchedAt < $1.copy.known.fetchedAt }),
            own.map({ $0.fetchedAt <= latest.copy.known.fetchedAt }) ?? true
        else { return (own, false) }
        // Under its name in Redis, by which changes are announced.
        keep(latest.copy, for: latest.name, since: version)
        return (latest.copy.known, false)
    }

    private func detached(_ names: [String]) -> (result: CachedResult?, isDetached: Bool) {
        observe(.lookupFailed)
        return (copy(for: names)?.known, true)
    }

    private func entries(_ replies: RedisResults, for names: [String]) -> [(name: String, copy: LocalCopy)]? {
        var found: [(name: String, copy: LocalCopy)] = []
        for (index, name) in names.enumerated() {
            let pair = replies.dropFirst(2 * index).prefix(2)
            guard case .success(let value) = pair.first, case .success(.integer(let remaining)) = pair.last,
                pair.count == 2
            else { return nil }
            guard case .string(let sealed) = value, let copy = entry(sealed, for: name, remaining) else { continue }
            found.append((name, copy))
        }
        return found
    }

    private func keep(_ copy: LocalCopy, for name: String, since version: InvalidationVersion) {
        localCopies.withLock { localCopies in
            // An invalidation increments the counters first: so this insert comes before it and is removed, or is not
            // done.
            guard version.isUnchanged, copy.opened == nil || localCopies.find(name)?.opened !== copy.opened else {
                return
            }
            localCopies.insert(copy, for: name, byteCount: copy.byteCount)
        }
    }

    private func copy(for names: [String]) -> LocalCopy? {
        localCopies.withLock { localCopies in
            names.compactMap { localCopies.find($0) }.max { $0.known.fetchedAt < $1.known.fetchedAt }
        }
    }

    /// - Parameter remaining: its time to live in milliseconds.
    private func entry(_ sealed: [UInt8], for name: String, _ remaining: Int64) -> LocalCopy? {
        do throws(SharedCacheFault) {
            let opened = try open(sealed, for: name)
            let age = opened.retention - .milliseconds(remaining)
            let known = try inOurTime(opened.known, age: age)
            return LocalCopy(known: known, opened: opened, isLocalOnly: false)
        } catch {
            observe(error)
            return nil
        }
    }

    private func open(_ sealed: [UInt8], for name: String) throws(SharedCacheFault) -> Opened {
        if let opened = localCopies.withLock({ $0.find(name) })?.opened, opened.isOf(sealed) { return opened }
        return Opened(sealed, try StoredResult(seal.open(sealed, for: name), policy: policy))
    }

    /// Returns the result with its times by this node's clock.
    private func inOurTime(_ known: CachedResult, age: Duration) throws(SharedCacheFault) -> CachedResult {
        let difference = known.fetchedAt.duration(to: clock().advanced(by: .zero - age))
        guard age >= .zero - Self.tolerance, age <= policy.longestRetention(of: known.result),
            difference.magnitude <= StoredResult.Limits.clockDifference
        else { throw .implausibleTimes }
        return difference.magnitude <= Self.tolerance ? known : known.shifted(by: difference)
    }

    /// The clock difference that is ignored; writing takes time too.
    private static let tolerance: Duration = .seconds(1)

    // MARK: - Keeping

    /// Stores a result for all nodes; for this node alone if it is too large or Redis does not take it.
    func insert(_ result: CachedResult, for key: CacheKey) async {
        let names = names.names(of: key), version = counters.version(of: names)
        let stored = StoredResult(known: result, retention: policy.retention(of: result))
        guard let bytes = stored.bytes else { return }
        let isLocalOnly = bytes.count > StoredResult.Limits.bytes
        if isLocalOnly {
            observe(.tooLarge)
        } else {
            if case .success = await store.send([set(bytes, stored, for: names[0])]).first { return }
            observe(.insertFailed)
        }
        keep(LocalCopy(known: result, opened: nil, isLocalOnly: isLocalOnly), for: names[0], since: version)
    }

    private func set(_ bytes: [UInt8], _ stored: StoredResult, for name: String) -> RedisCommand {
        RedisCommand(
            "SET", key: .result(name), RedisWord(seal.seal(bytes, for: name)), "PX", stored.retention)
    }

    // MARK: - Invalidation

    /// Handles Redis's announcement of changed keys; other keys are ignored.
    func invalidate(keys: [[UInt8]]) {
        invalidate(names: keys.compactMap(SharedCacheNames.name(inKey:)))
        if keys.contains(RedisPurges.head.bytes) { redisPurges.announce() }
    }

    func invalidate(names: [String]) {
        for name in names { counters.invalidate(name) }
        localCopies.withLock { localCopies in
            for name in names { localCopies.remove(name) }
        }
    }

    /// Handles announcements that may have been missed. Copies stay: they are checked against the purges on use.
    func flushed() {
        counters.invalidateAll()
        redisPurges.announce()
    }
}

extension StoredResult.Limits {
    /// The maximum size: a thousand transactions. Larger values would delay other commands on the connection.
    static let bytes = 1 << 20
    /// The maximum difference of the writer's and the reader's clocks. Beyond this difference, the value counts as an
    /// old value that was restored.
    static let clockDifference: Duration = .seconds(7200)
}

extension StoredResult {
    /// Reads decrypted bytes.
    /// - Parameter policy: bounds the accepted times, for each kind of result.
    init(_ bytes: [UInt8], policy: FreshnessPolicy) throws(SharedCacheFault) {
        guard bytes.count <= Limits.bytes, let stored = try? StoredResult(storedBytes: bytes) else {
            throw .unreadable
        }
        self = stored
        guard freshness > .zero, freshness <= policy.longestFreshness(of: result), retention >= freshness,
            retention <= policy.longestRetention(of: result), took >= .zero, took <= Limits.took
        else { throw .implausibleTimes }
    }
}

// MARK: - Names

/// The names of cached results in Redis.
package enum SharedCacheNames {
    /// The key prefix. The number increases when the format of values changes.
    package static let resultPrefix = "rc:12:"

    /// Returns the name in a Redis key; nil if the key holds no cached result.
    static func name(inKey key: [UInt8]) -> String? {
        guard key.starts(with: resultPrefix.utf8) else { return nil }
        return String(outside: key.dropFirst(resultPrefix.utf8.count))
    }
}

extension EntryNames {
    /// Returns the names of a cached result, derived from all parts of its cache key.
    func names(of key: CacheKey) -> [String] { names("finding", key.parts) }
}

extension RedisWord {
    static func result(_ name: String) -> RedisWord { RedisWord(SharedCacheNames.resultPrefix + name) }
}

extension CacheKey {
    /// The parts that distinguish requests to Apple, for a name.
    var parts: [[UInt8]] {
        [
            Array((environment?.rawValue ?? "").utf8), Array((bundleID ?? "").utf8), Array(api.storedName.utf8),
            [excludesOldTransactions ? 1 : 0], Array((credentials?.description ?? "").utf8),
            subject.part,
        ]
    }
}

// Leases use these names in all versions, so they must not change.

extension UpstreamAPI {
    fileprivate var storedName: String {
        switch self {
        case .verifyReceipt: "verifyReceipt"
        case .serverAPI: "serverAPI"
        }
    }
}

extension VerificationSubject.Identity {
    /// The identity's bytes: a digest of 64 hexadecimal digits, or a prefixed transaction ID. The prefix separates what
    /// a client named from what Apple signed.
    fileprivate var part: [UInt8] {
        switch self {
        case .signedContent(let digest): Array(digest.description.utf8)
        case .transaction(let id): Array("transaction:\(id)".utf8)
        }
    }
}
