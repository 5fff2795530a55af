// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Privacy
internal import Redis
internal import Settings
internal import StoreFormat

/// Deletes the cached results about a customer from Redis. They are invalid already (`CachedResultPurge`), and would end
/// by themselves; their deletion is announced to the nodes, which drop their copies.
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
        let masters = redis.masterNodes, ids = ErasedIDs(of: subject)
        guard !masters.isEmpty else { throw StoreUnreachable() }
        var number = 0
        for master in masters { number += try await erase(ids, from: master) }
        return number == 0 ? [:] : [.cachedResults: number]
    }

    private func erase(_ ids: ErasedIDs, from master: any RedisCommands) async throws(StoreUnreachable) -> Int {
        var cursor: [UInt8] = Self.firstCursor, number = 0
        for _ in 0..<Limits.pages {
            let reply = try? await master.send(
                RedisCommand("SCAN", RedisWord(cursor), "MATCH", Self.keys, "COUNT", RedisWord(Limits.scanned)))
            guard case .array(let parts)? = reply, parts.count == 2, let next = parts[0].bytes,
                case .array(let found) = parts[1]
            else { throw StoreUnreachable() }
            let keys = found.compactMap(\.bytes)
            for start in stride(from: 0, to: keys.count, by: Limits.read) {
                number += try await erase(ids, under: Array(keys[start..<min(keys.count, start + Limits.read)]))
            }
            if next == Self.firstCursor { return number }
            cursor = next
        }
        throw StoreUnreachable()
    }

    private static let firstCursor = Array("0".utf8)

    /// Through the client, which follows keys that are moved to another master meanwhile.
    private func erase(_ ids: ErasedIDs, under keys: [[UInt8]]) async throws(StoreUnreachable) -> Int {
        let replies = await redis.send(keys.map { RedisCommand("GET", key: RedisWord($0)) })
        var named: [RedisCommand] = []
        for (key, reply) in zip(keys, replies) {
            // Not the gateway's.
            if case .failure(.refused(let refusal)) = reply, refusal.isWrongType { continue }
            guard case .success(let value) = reply else { throw StoreUnreachable() }
            guard let sealed = value.bytes, let bytes = try? seal.open(sealed, for: Self.name(inKey: key)),
                ids.areNamed(in: bytes)
            else { continue }
            named.append(RedisCommand("DEL", key: RedisWord(key)))
        }
        var number = 0
        for reply in named.isEmpty ? [] : await redis.send(named) {
            guard let deleted = (try? reply.get())?.entryCount else { throw StoreUnreachable() }
            // Each is of one key.
            number += min(1, deleted)
        }
        return number
    }

    /// Returns the name of a result: the key after `rc:` and the number of its format.
    private static func name(inKey key: [UInt8]) -> String {
        String(outside: key.split(separator: UInt8(ascii: ":"), maxSplits: 2).last ?? []) ?? ""
    }
}
