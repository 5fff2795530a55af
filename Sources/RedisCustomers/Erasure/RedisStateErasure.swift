// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Events
internal import Gateway
internal import Privacy
internal import Receipts
internal import Redis
internal import StoreFormat

/// The customer states of Redis, as a store of their own: the chains of renamed purchases are found by them, so they are
/// deleted after everything else.
struct RedisStateErasure: CustomerDataStore {
    enum Limits {
        /// The states that are read at once: each has at most 33 signed items.
        static let page = 64
        /// The pages of one partition.
        static let pages = 10_000_000
    }

    let store: RedisNotifications

    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        var number = 0
        for (partition, chains) in Dictionary(grouping: subject.chains, by: \.partition) {
            let keys = NotificationKeys(partition)
            let records = chains.flatMap { store.names.names(of: $0) }.map { RedisWord(keys.state($0)) }
            number += try await store.redis.count(ErasureScripts.states, keys: [keys.states, keys.due] + records)
        }
        return number == 0 ? [:] : [.customerStates: number]
    }
}

extension RedisStateErasure: ChainNames {
    /// Reads the records of the app: that of an earlier name has the states of the later one, and not the reverse.
    func chains(linkedTo subject: ErasureSubject) async throws(StoreUnreachable) -> Set<PurchaseChain> {
        let ids = ErasedIDs(of: subject)
        var linked: Set<PurchaseChain> = []
        for partition in AppPartition.all(of: subject.bundleID) {
            var cursor = "0", pages = 0
            repeat {
                let page = try await page(of: NotificationKeys(partition).states, at: cursor)
                guard let records = await store.linkedChains(under: page.keys), pages < Limits.pages else {
                    throw StoreUnreachable()
                }
                linked.formUnion(records.filter { $0.contains { ids.contains($0.originalTransactionID) } }.joined())
                (cursor, pages) = (page.next, pages + 1)
            } while cursor != "0"
        }
        return linked
    }

    private func page(
        of states: RedisWord, at cursor: String
    ) async throws(StoreUnreachable) -> (keys: [String], next: String) {
        let reply = try? await store.redis.send(
            RedisCommand("ZSCAN", key: states, RedisWord(cursor), "COUNT", RedisWord(Limits.page)))
        guard case .array(let parts)? = reply, parts.count == 2, let next = parts[0].bytes,
            case .array(let members) = parts[1]
        else { throw StoreUnreachable() }
        let keys = members.indices.filter { $0 % 2 == 0 }.compactMap { members[$0].bytes }
        return (keys.map { String(decoding: $0, as: UTF8.self) }, String(decoding: next, as: UTF8.self))
    }
}
