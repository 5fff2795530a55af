// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Redis

/// The entries of a stream, read in pages that are bounded in number and bytes.
struct StreamPages {
    enum Limits {
        static let entries = 256
        /// The bytes after which a page ends. Its last entry may exceed them.
        static let bytes = 1 << 20
        /// The pages of one stream: more entries than any log may have.
        static let pages = 1_000_000
    }

    private let redis: any RedisCommands
    private let stream: RedisWord
    private var after = "0-0"
    private var pages = 0

    init(_ redis: any RedisCommands, _ stream: RedisWord) { (self.redis, self.stream) = (redis, stream) }

    mutating func next() async throws(StoreUnreachable) -> [EventEntry]? {
        guard pages < Limits.pages else { throw StoreUnreachable() }
        pages += 1
        let entries = try await redis.list(
            ErasureScripts.page, keys: [stream], after, Limits.entries, Limits.bytes
        ).compactMap { EventEntry($0) }
        guard let last = entries.last else { return nil }
        after = last.position.id
        return entries
    }
}

// MARK: - Notifications that are not applied

extension RedisNotifications: CustomerDataStore {
    /// Deletes pending notifications and dead letters. Their identities stay: they are keyed digests.
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let ids = IDsToErase(of: subject)
        var count: ErasureCount = [:]
        for partition in AppPartition.all(of: subject.bundleID) {
            let keys = NotificationKeys(partition)
            let pending = try await entries(of: keys.pending, naming: ids, keys)
            if !pending.isEmpty {
                let removed = try await redis.count(
                    NotificationScripts.finish, keys: [keys.pending, keys.totals, keys.events],
                    retention, pending.flatMap { [$0.id, RedisWord($0.bytes), ""] })
                count.add([.pendingNotifications: removed])
            }
            let dead = try await entries(of: keys.dead, naming: ids, keys)
            if !dead.isEmpty {
                let reply = try await redis.replies(to: [RedisCommand("XDEL", key: keys.dead, dead.map(\.id))])[0]
                guard let removed = reply.entryCount else { throw StoreUnreachable() }
                count.add([.deadLetters: removed])
            }
        }
        return count
    }

    private func entries(
        of stream: RedisWord, naming ids: IDsToErase, _ keys: NotificationKeys
    ) async throws(StoreUnreachable) -> [(id: RedisWord, bytes: Int)] {
        var pages = StreamPages(redis, stream), found: [(id: RedisWord, bytes: Int)] = []
        while let page = try await pages.next() {
            for entry in page {
                let record = try? NotificationRecord(sealed: entry.notification, keys, seal)
                guard record?.names(ids) == true else { continue }
                found.append((RedisWord(entry.position.id), entry.notification.count))
            }
        }
        return found
    }
}

extension NotificationRecord {
    init(sealed: [UInt8], _ keys: NotificationKeys, _ seal: StoreSeal) throws(SharedCacheFault) {
        let bytes = try seal.open(sealed, for: keys.sealedName)
        guard let record = try? NotificationRecord(storedBytes: bytes) else { throw .unreadable }
        self = record
    }
}

// MARK: - Events

extension RedisEventLog: CustomerDataStore {
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let ids = IDsToErase(of: subject)
        var count: ErasureCount = [:]
        for partition in AppPartition.all(of: subject.bundleID) {
            let keys = NotificationKeys(partition)
            count.add([
                .events: try await erase(.events, keys) {
                    (try? Event(sealed: $0.sealed, keys, seal, bundleID: subject.bundleID))?.names(ids) ?? false
                },
                .relayedNotifications: try await erase(.relay, keys) {
                    (try? NotificationRecord(sealed: $0.sealed, keys, seal))?.names(ids) ?? false
                },
            ])
        }
        return count
    }

    private func erase(
        _ stream: EventStream, _ keys: NotificationKeys, where isErased: (EventEntry) -> Bool
    ) async throws(StoreUnreachable) -> Int {
        var pages = StreamPages(redis, keys.log(stream)), removed = 0
        while let page = try await pages.next() {
            let erased = page.filter(isErased).map(\.position)
            if erased.isEmpty { continue }
            removed += try await redis.count(
                ErasureScripts.entries, keys: [keys.totals, keys.log(stream), keys.erased(stream)],
                stream.lastField, retention.maximumCountOfPartition,
                erased.flatMap { [RedisWord($0.id), RedisWord($0.number)] })
        }
        return removed
    }
}

// MARK: - States

/// The customer states of Redis, as a store of their own: the chains of renamed purchases are found by them, so they are
/// deleted after everything else.
struct RedisStateErasure: CustomerDataStore {
    let store: RedisNotifications

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        var number = 0
        for (partition, chains) in Dictionary(grouping: subject.chains, by: \.partition) {
            let keys = NotificationKeys(partition)
            let records = chains.flatMap { store.names.states(of: $0) }.map { RedisWord(keys.state($0)) }
            number += try await store.redis.count(ErasureScripts.states, keys: [keys.states, keys.due] + records)
        }
        return number == 0 ? [:] : [.customerStates: number]
    }
}

// MARK: - Deliveries

/// Deletes the deliveries of a customer's events. The log records which events were deleted, so it must come before. A
/// delivery may be older than the log, so the chain of a purchase also finds its deliveries.
extension RedisDeliveryStore: CustomerDataStore {
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        var number = 0
        for partition in AppPartition.all(of: subject.bundleID) {
            let keys = NotificationKeys(partition)
            let chains = Set(subject.chains.filter { $0.partition == partition }.map(\.deliveryName))
            for queue in try await queues(of: partition) {
                let parts = DeliveryKeys.all(of: RedisWord(queue))
                let stream: EventStream = queue.hasSuffix(":\(EventStream.relay.rawValue)") ? .relay : .events
                let events = try await numbers(of: chains, inQueue: queue)
                number += try await redis.count(
                    ErasureScripts.deliveries, keys: [keys.erased(stream), parts[0], parts[1], parts[3], parts[2]],
                    events.count, events, chains.flatMap { gapNames($0, ofQueue: queue) })
            }
        }
        return number == 0 ? [:] : [.deliveries: number]
    }

    /// Returns the numbers of the events about these chains that are held or dead.
    private func numbers(of chains: Set<String>, inQueue queue: String) async throws(StoreUnreachable) -> [UInt64] {
        guard !chains.isEmpty else { return [] }
        let parts = DeliveryKeys.all(of: RedisWord(queue))
        let held = try await members(of: parts[1]).map { heldEvent($0, ofQueue: queue) }
        let dead = try await members(of: parts[3]).compactMap { deadEvent($0, ofQueue: queue) }
        return held.filter { chains.contains($0.chain) }.map(\.position.number)
            + dead.filter { chains.contains($0.chain) }.map(\.position.number)
    }

    private func members(of key: RedisWord) async throws(StoreUnreachable) -> [StoredDelivery] {
        try await redis.list(RedisCommand("ZRANGE", key: key, 0, -1)).compactMap { StoredDelivery($0) }
    }

    /// Returns the keys of the queues of all endpoints, also of those that no longer exist.
    private func queues(of partition: AppPartition) async throws(StoreUnreachable) -> [String] {
        let key = RedisWord(NotificationKeys(partition).prefix + "deliveries")
        return try await redis.list(RedisCommand("ZRANGE", key: key, 0, -1)).compactMap(\.text)
    }
}

// MARK: - Cached results

/// Deletes the cached results about a customer of an app from Redis. They are invalid already (`CachedResultPurge`),
/// and would end by themselves; their deletion is announced to the nodes, which drop their copies.
///
/// A result has the name of its request, which is not known here: all are read.
struct RedisResultErasure: CustomerDataStore {
    enum Limits {
        /// The keys that one reply names, about.
        static let scanned = 512
        /// The results that are read at once: each has 1 MiB at most.
        static let read = 16
        /// The pages of one master: more than its memory has keys.
        static let pages = 10_000_000
    }

    /// Of every version: the names of the values in it do not have the number.
    private static let keys: RedisWord = "rc:*"

    private let redis: any RedisClient
    private let seal: StoreSeal

    init(_ redis: any RedisClient, keys: StoreKeys) { (self.redis, seal) = (redis, StoreSeal(keys: keys)) }

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        let masters = redis.masterNodes, ids = IDsToErase(of: subject)
        guard !masters.isEmpty else { throw StoreUnreachable() }
        var number = 0
        for master in masters { number += try await erase(ids, of: subject.bundleID, from: master) }
        return number == 0 ? [:] : [.cachedResults: number]
    }

    private func erase(
        _ ids: IDsToErase, of bundleID: String, from master: any RedisCommands
    ) async throws(StoreUnreachable) -> Int {
        var cursor: [UInt8] = Self.firstCursor, number = 0
        for _ in 0..<Limits.pages {
            let parts = try await master.list(
                RedisCommand("SCAN", RedisWord(cursor), "MATCH", Self.keys, "COUNT", Limits.scanned))
            guard parts.count == 2, let next = parts[0].bytes else { throw StoreUnreachable() }
            let keys = try parts[1].list().compactMap(\.bytes)
            for start in stride(from: 0, to: keys.count, by: Limits.read) {
                let page = Array(keys[start..<min(keys.count, start + Limits.read)])
                number += try await erase(ids, of: bundleID, under: page)
            }
            if next == Self.firstCursor { return number }
            cursor = next
        }
        throw StoreUnreachable()
    }

    private static let firstCursor = Array("0".utf8)

    /// Through the client, which follows keys that are moved to another master meanwhile.
    /// - Returns: the number of deleted results of the app.
    private func erase(
        _ ids: IDsToErase, of bundleID: String, under keys: [[UInt8]]
    ) async throws(StoreUnreachable) -> Int {
        let values = try await redis.replies(
            to: keys.map { RedisCommand("GET", key: RedisWord($0)) }, ofAnotherType: .null)
        var named: [(key: [UInt8], isCounted: Bool)] = []
        for (key, value) in zip(keys, values) {
            guard let sealed = value.bytes, let bytes = try? seal.open(sealed, for: Self.name(inKey: key)),
                ids.areNamed(in: bytes)
            else { continue }
            let app = Self.app(of: bytes, under: key)
            if app == nil || app == bundleID { named.append((key, isCounted: app != nil)) }
        }
        let deletions = try await redis.replies(to: named.map { RedisCommand("DEL", key: RedisWord($0.key)) })
        var number = 0
        for (deletion, named) in zip(deletions, named) {
            guard let deleted = deletion.entryCount else { throw StoreUnreachable() }
            // Each is of one key.
            if named.isCounted { number += min(1, deleted) }
        }
        return number
    }

    /// Returns the app of a stored result; nil if no node of this version can read the result. Such a result is deleted, and
    /// not counted: it may be another app's.
    private static func app(of bytes: [UInt8], under key: [UInt8]) -> String? {
        guard key.starts(with: SharedCacheNames.resultPrefix.utf8) else { return nil }
        return (try? StoredResult(bytes, policy: FreshnessPolicy()))?.known.result.bundleID
    }

    /// Returns the name of a result: the key after `rc:` and the number of its format.
    private static func name(inKey key: [UInt8]) -> String {
        String(outside: key.split(separator: UInt8(ascii: ":"), maxSplits: 2).last ?? []) ?? ""
    }
}

extension UpstreamResult {
    /// The app of the purchases in the result; nil for a result without purchases.
    fileprivate var bundleID: String? {
        switch self {
        case .answered(let answer): answer.bundleID
        case .alias(let alias): alias.bundleID
        case .accountNotFound, .unknownTransaction, .unanswered: nil
        }
    }
}
