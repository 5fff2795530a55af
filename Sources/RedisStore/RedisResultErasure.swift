// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON
internal import Redis

/// Deletes the cached results about a customer of an app from Redis. They are invalid already (`CachedResultPurge`), and would end
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
            let reply = try? await master.send(
                RedisCommand("SCAN", RedisWord(cursor), "MATCH", Self.keys, "COUNT", RedisWord(Limits.scanned)))
            guard case .array(let parts)? = reply, parts.count == 2, let next = parts[0].bytes,
                case .array(let found) = parts[1]
            else { throw StoreUnreachable() }
            let keys = found.compactMap(\.bytes)
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
        let replies = await redis.send(keys.map { RedisCommand("GET", key: RedisWord($0)) })
        var named: [(key: [UInt8], isCounted: Bool)] = []
        for (key, reply) in zip(keys, replies) {
            // Not the gateway's.
            if case .failure(.refused(let refusal)) = reply, refusal.isWrongType { continue }
            guard case .success(let value) = reply else { throw StoreUnreachable() }
            guard let sealed = value.bytes, let bytes = try? seal.open(sealed, for: Self.name(inKey: key)),
                ids.areNamed(in: bytes)
            else { continue }
            let app = Self.app(of: bytes, under: key)
            if app == nil || app == bundleID { named.append((key, isCounted: app != nil)) }
        }
        let deletions = named.isEmpty ? [] : await redis.send(named.map { RedisCommand("DEL", key: RedisWord($0.key)) })
        var number = 0
        for (reply, named) in zip(deletions, named) {
            guard let deleted = (try? reply.get())?.entryCount else { throw StoreUnreachable() }
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
