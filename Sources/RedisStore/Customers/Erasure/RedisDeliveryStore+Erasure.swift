// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

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
                    [RedisWord(events.count)] + events.map { RedisWord($0) }
                        + chains.flatMap { gapNames($0, ofQueue: queue) })
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
        guard case .array(let members)? = try? await redis.send(RedisCommand("ZRANGE", key: key, 0, -1)) else {
            throw StoreUnreachable()
        }
        return members.compactMap { StoredDelivery($0) }
    }

    /// Returns the keys of the queues of all endpoints, also of those that no longer exist.
    private func queues(of partition: AppPartition) async throws(StoreUnreachable) -> [String] {
        let key = RedisWord(NotificationKeys(partition).prefix + "deliveries")
        guard case .array(let queues)? = try? await redis.send(RedisCommand("ZRANGE", key: key, 0, -1)) else {
            throw StoreUnreachable()
        }
        return queues.compactMap(\.text)
    }
}
