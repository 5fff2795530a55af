// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
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

    /// Returns the next entries; nil after the last entry.
    mutating func next() async throws(StoreUnreachable) -> [EventEntry]? {
        guard pages < Limits.pages else { throw StoreUnreachable() }
        pages += 1
        let reply = try? await redis.run(
            ErasureScripts.page, keys: [stream],
            [RedisWord(after), RedisWord(Limits.entries), RedisWord(Limits.bytes)])
        guard case .array(let parts)? = reply else { throw StoreUnreachable() }
        let entries = parts.compactMap { EventEntry($0) }
        guard let last = entries.last else { return nil }
        after = last.position.id
        return entries
    }
}

extension RedisCommands {
    /// Runs a script, and returns the number that it returns.
    func count(
        _ script: RedisScript, keys: [RedisWord], _ arguments: [RedisWord] = []
    ) async throws(StoreUnreachable) -> Int {
        guard let number = (try? await run(script, keys: keys, arguments))?.entryCount else { throw StoreUnreachable() }
        return number
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
                    retention.words + pending.flatMap { [$0.id, RedisWord($0.bytes), ""] })
                count.add([.pendingNotifications: removed])
            }
            let dead = try await entries(of: keys.dead, naming: ids, keys)
            if !dead.isEmpty { count.add([.deadLetters: try await delete(dead.map(\.id), from: keys.dead)]) }
        }
        return count
    }

    private func entries(
        of stream: RedisWord, naming ids: IDsToErase, _ keys: NotificationKeys
    ) async throws(StoreUnreachable) -> [(id: RedisWord, bytes: Int)] {
        var pages = StreamPages(redis, stream), found: [(id: RedisWord, bytes: Int)] = []
        while let page = try await pages.next() {
            for entry in page where NotificationRecord(sealed: entry.notification, keys, seal)?.names(ids) ?? false {
                found.append((RedisWord(entry.position.id), entry.notification.count))
            }
        }
        return found
    }

    private func delete(_ ids: [RedisWord], from stream: RedisWord) async throws(StoreUnreachable) -> Int {
        let reply = try? await redis.send(RedisCommand(["XDEL", stream] + ids, key: stream))
        guard let removed = reply?.entryCount else { throw StoreUnreachable() }
        return removed
    }
}

extension NotificationRecord {
    /// Returns nil for what cannot be decrypted or read.
    init?(sealed: [UInt8], _ keys: NotificationKeys, _ seal: StoreSeal) {
        guard let bytes = try? seal.open(sealed, for: keys.sealedName),
            let record = try? NotificationRecord(storedBytes: bytes)
        else { return nil }
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
                    NotificationRecord(sealed: $0.sealed, keys, seal)?.names(ids) ?? false
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
                [RedisWord(stream.lastField), RedisWord(retention.maximumCountOfPartition)]
                    + erased.flatMap { [RedisWord($0.id), RedisWord($0.number)] })
        }
        return removed
    }
}
