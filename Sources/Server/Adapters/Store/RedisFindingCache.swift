// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Redis
internal import Synchronization

/// Keeps findings where all nodes find them, sealed, under names that tell nothing.
///
/// A finding is one `GET` and one `PTTL` in one round trip. Its age is what the store says has passed since it was
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
    private let board = InvalidationBoard()
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
        policy = freshness
        self.clock = clock
        self.observe = observe
        spares = Mutex(Generations(maximumBytes: spareBytes))
    }

    /// How things stand.
    func stamp(for key: FindingKey) -> InvalidationStamp { board.stamp(of: names.names(of: key)) }
}

// MARK: - Looking up

extension RedisFindingCache {
    /// What is known: under several keys, what was found out last.
    func lookUp(_ key: FindingKey) async -> FindingLookup {
        let names = names.names(of: key)
        let stamp = board.stamp(of: names)
        return FindingLookup(await finding(under: names, since: stamp), stamp: stamp)
    }

    private func finding(under names: [String], since stamp: InvalidationStamp) async -> KnownFinding? {
        let replies = await store.send(
            names.flatMap { [RedisCommand("GET", key: .finding($0)), RedisCommand("PTTL", key: .finding($0))] })
        var found: [(name: String, spare: Spare)] = []
        for (index, name) in names.enumerated() {
            switch entry(replies.dropFirst(2 * index).prefix(2), for: name) {
            case .absent: continue
            case .found(let spare): found.append((name, spare))
            case .unreachable:
                observe(.lookupFailed)
                return spare(for: names)?.known
            }
        }
        guard let latest = found.max(by: { $0.spare.known.askedAt < $1.spare.known.askedAt }) else {
            return spare(for: names).flatMap { $0.isAlone ? $0.known : nil }
        }
        // By the name it has in the store: that is the one by which it will be forgotten.
        keep(latest.spare, for: latest.name, since: stamp)
        return latest.spare.known
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
        // Empty is what `forget` leaves behind for a moment.
        guard case .string(let sealed) = value, !sealed.isEmpty else { return .absent }
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
    func insert(_ finding: KnownFinding, for key: FindingKey, naming originalTransactionIDs: [String]) async {
        let names = names.names(of: key), stamp = board.stamp(of: names)
        let stored = StoredFinding(known: finding, retention: policy.retention(of: finding))
        guard let bytes = stored.bytes else { return }
        let isAlone = bytes.count > StoredFindingLimits.bytes
        if isAlone { observe(.tooLarge) }
        let indices = originalTransactionIDs.flatMap { index(names[0], under: $0, finding) }
        // The index first: what no purge would find must not lie there.
        var isKept = await carriesOut(indices)
        if isKept, !isAlone { isKept = await carriesOut([set(bytes, stored, for: names[0])]) }
        if !isKept { observe(.insertFailed) }
        guard !isKept || isAlone else { return }
        let spare = Spare(known: finding, opened: nil, isAlone: isAlone && isKept)
        keep(spare, for: names[0], since: stamp)
    }

    /// Whether the store took all of it.
    private func carriesOut(_ commands: [RedisCommand]) async -> Bool {
        await store.send(commands).allSatisfy { if case .success = $0 { true } else { false } }
    }

    private func set(_ bytes: [UInt8], _ stored: StoredFinding, for name: String) -> RedisCommand {
        RedisCommand(
            "SET", key: .finding(name), RedisWord(seal.seal(bytes, for: name)), "PX",
            RedisWord(stored.retention.wholeMilliseconds))
    }

    /// Writes down that a finding names an original transaction. Of too many, those that were found out first go.
    private func index(
        _ name: String, under originalTransactionID: String, _ finding: KnownFinding
    ) -> [RedisCommand] {
        let key = RedisWord.index(names.indexNames(of: originalTransactionID)[0])
        return [
            RedisCommand("ZADD", key: key, RedisWord(finding.askedAt.millisecondsSince1970), RedisWord(name)),
            RedisCommand("ZREMRANGEBYRANK", key: key, 0, RedisWord(-1 - Self.findingsInIndex)),
            // Always as long as any finding in it may last.
            RedisCommand("PEXPIRE", key: key, RedisWord(policy.longestRetention.wholeMilliseconds)),
        ]
    }

    /// Findings that one original transaction leads to: receipts of the same customer, times what callers ask.
    static let findingsInIndex = 64
}

// MARK: - Forgetting

extension RedisFindingCache {
    /// Forgets every finding that names this original transaction, on all nodes.
    func forget(originalTransactionID: String) async throws(StoreUnreachable) -> Int {
        let indices = names.indexNames(of: originalTransactionID).map { RedisWord.index($0) }
        let lists = try await ask(
            indices.map { RedisCommand("ZRANGE", key: $0, 0, RedisWord(Self.findingsInIndex - 1)) })
        let found = lists.map(Self.names)
        let all = Set(found.joined())
        // What is written for a moment makes sure that all nodes hear of it, also of what the store no longer had.
        let replies = try await ask(
            all.flatMap { RedisWord.findings($0) }.flatMap { key in
                [RedisCommand("STRLEN", key: key), RedisCommand("SET", key: key, "", "PX", 1)]
            })
        invalidate(names: Array(all))
        return replies.count { if case .integer(let length) = $0 { length > 0 } else { false } }
    }

    private func ask(_ commands: [RedisCommand]) async throws(StoreUnreachable) -> [RedisValue] {
        guard !commands.isEmpty else { return [] }
        let values = await store.send(commands).compactMap { try? $0.get() }
        guard values.count == commands.count else { throw StoreUnreachable() }
        return values
    }

    private static func names(_ reply: RedisValue) -> [String] {
        guard case .array(let members) = reply else { return [] }
        return members.compactMap { if case .string(let bytes) = $0 { FindingNames.name(bytes) } else { nil } }
    }
}

// MARK: - Hearing of changes

extension RedisFindingCache {
    /// Redis tells that these keys have changed; those that are none of this cache's are passed over.
    func invalidate(keys: [[UInt8]]) { invalidate(names: keys.compactMap(FindingNames.name(inKey:))) }

    /// Findings with these names have changed.
    func invalidate(names: [String]) {
        for name in names { board.invalidate(name) }
        spares.withLock { spares in
            for name in names { spares.remove(name) }
        }
    }

    /// Changes were not heard of for a while. Copies stay: they are for the time when the store is away.
    func invalidateAll() { board.invalidateAll() }
}
