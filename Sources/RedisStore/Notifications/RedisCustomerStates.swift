// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Entitlements
internal import Gateway
internal import Notifications
internal import Receipts
internal import Redis

extension RedisNotifications {
    /// An item as stored: its order, and its encrypted form.
    private struct StoredItem {
        let field: String
        let order: [UInt8]
        let sealed: [UInt8]

        init?(_ field: [UInt8], _ value: [UInt8]) {
            guard value.count > SignedStateOrder.textBytes else { return nil }
            self.field = String(decoding: field, as: UTF8.self)
            order = Array(value.prefix(SignedStateOrder.textBytes))
            sealed = Array(value.dropFirst(SignedStateOrder.textBytes))
        }
    }

    /// A chain's state under one of its names.
    private struct StoredState {
        let key: String
        let items: [StoredItem]

        /// Fields and orders, by which a script recognizes that nothing was added.
        var recognition: RedisWord {
            RedisWord(items.flatMap { Array("\($0.field) ".utf8) + $0.order + [UInt8(ascii: ",")] })
        }
    }

    func states(of chains: [PurchaseChain]) async -> [CustomerState]? {
        guard let stored = await stored(chains.map { chain in keys(of: chain) }, from: requests) else { return nil }
        return stored.compactMap { states in
            let known = states.flatMap { items(of: $0) }
            return known.isEmpty ? nil : CustomerState(known)
        }
    }

    func merge(_ updates: [CustomerStateUpdate]) async -> [Result<Bool, StoreUnreachable>] {
        guard !updates.isEmpty else { return [] }
        let stateKeys = updates.map { keys(of: $0.chain) }
        // What an older cache key encrypted is encrypted anew under the first.
        guard let older = await stored(stateKeys.map { Array($0.dropFirst()) }, from: redis) else {
            return updates.map { _ in .failure(StoreUnreachable()) }
        }
        let commands = zip(updates.indices, older).map { index, older in
            mergeCall(updates[index], key: stateKeys[index][0], older: older.filter { !$0.items.isEmpty })
        }
        let replies = await redis.send(commands.map { $0.command })
        guard replies.count == updates.count else { return updates.map { _ in .failure(StoreUnreachable()) } }
        var results: [Result<Bool, StoreUnreachable>] = []
        for (call, reply) in zip(commands, replies) { results.append(await outcome(reply, of: call)) }
        return results
    }

    private typealias MergeCall = (command: RedisCommand, whole: RedisCommand)

    private func outcome(
        _ reply: Result<RedisValue, RedisError>, of call: MergeCall
    ) async -> Result<Bool, StoreUnreachable> {
        var reply = reply
        if case .failure(.refused(let refusal)) = reply, refusal.kind == .noScript {
            reply = await redis.send([call.whole]).first ?? .failure(.protocolViolation)
        }
        guard case .success(.integer(let changed)) = reply else { return .failure(StoreUnreachable()) }
        return .success(changed > 0)
    }

    private func mergeCall(_ update: CustomerStateUpdate, key: String, older: [StoredState]) -> MergeCall {
        let items = update.items + older.flatMap { self.items(of: $0) }
        let keys = [NotificationKeys(update.chain.partition).states, RedisWord(key)] + older.map { RedisWord($0.key) }
        let arguments =
            [RedisWord(CustomerState.Limits.transactions)] + older.map(\.recognition)
            + items.flatMap { words(of: $0, key: key) }
        return (
            NotificationScripts.merge.call(keys: keys, arguments),
            NotificationScripts.merge.wholeCall(keys: keys, arguments)
        )
    }

    /// Returns the field, the order and the encrypted form of an item.
    private func words(of item: SignedStateItem, key: String) -> [RedisWord] {
        let contents = item.storedBytes, field = names.field(of: item)
        let order = SignedStateOrder(item, tieBreaker: Fingerprint(of: contents.span).tieBreaker).text
        let sealed = seal.seal(contents, for: sealedName(key, field, order))
        return [RedisWord(field), RedisWord(order), RedisWord(sealed)]
    }

    /// The name that binds an encrypted item to its chain, its field and its order.
    private func sealedName(_ key: String, _ field: String, _ order: String) -> String { "\(key) \(field) \(order)" }

    /// The keys of a chain's state, under every cache key; the first one writes.
    private func keys(of chain: PurchaseChain) -> [String] {
        let keys = NotificationKeys(chain.partition)
        return names.names(of: chain).map { keys.state($0) }
    }

    /// Reads the states under these keys; nil if Redis is unreachable.
    private func stored(_ keys: [[String]], from redis: any RedisCommands) async -> [[StoredState]]? {
        let all = keys.flatMap(\.self)
        guard !all.isEmpty else { return keys.map { _ in [] } }
        let replies = await redis.send(all.map { RedisCommand("HGETALL", key: RedisWord($0)) })
        guard replies.count == all.count else { return nil }
        var states: [String: StoredState] = [:]
        for (key, reply) in zip(all, replies) {
            guard case .success(.array(let parts)) = reply else { return nil }
            let values = parts.map { $0.bytes ?? [] }
            let items = stride(from: 0, to: values.count - 1, by: 2).compactMap { index in
                StoredItem(values[index], values[index + 1])
            }
            states[key] = StoredState(key: key, items: items)
        }
        return keys.map { $0.compactMap { states[$0] } }
    }

    /// Returns the items that can be decrypted and read. One that cannot is left to a version that can.
    private func items(of state: StoredState) -> [SignedStateItem] {
        state.items.compactMap { item in
            let name = sealedName(state.key, item.field, String(decoding: item.order, as: UTF8.self))
            guard let bytes = try? seal.open(item.sealed, for: name) else { return nil }
            return try? SignedStateItem(storedBytes: bytes)
        }
    }
}

extension Fingerprint {
    fileprivate var tieBreaker: UInt32 { UInt32(fraction * Double(UInt32.max)) }
}
