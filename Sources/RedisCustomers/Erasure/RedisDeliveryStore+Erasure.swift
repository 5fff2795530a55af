// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Events
internal import Gateway
internal import Privacy
internal import Receipts
internal import Redis
internal import Webhooks

/// Deletes the deliveries of deleted events. The log records which they were, so it must come before.
extension RedisDeliveryStore: CustomerDataStore {
    func erase(_ subject: ErasureSubject) async throws(StoreUnreachable) -> ErasureCount {
        var number = 0
        for partition in AppPartition.all(of: subject.bundleID) {
            let keys = NotificationKeys(partition), chains = subject.chains.filter { $0.partition == partition }
            for queue in try await queues(of: partition) {
                let parts = DeliveryKeys.all(of: RedisWord(queue))
                let stream: EventStream = queue.hasSuffix(":\(EventStream.relay.rawValue)") ? .relay : .events
                number += try await redis.count(
                    ErasureScripts.deliveries, keys: [keys.erased(stream), parts[0], parts[1], parts[3], parts[2]],
                    chains.flatMap { gapNames($0.deliveryName, ofQueue: queue) })
            }
        }
        return number == 0 ? [:] : [.deliveries: number]
    }

    /// Returns the keys of the queues of all endpoints, also of those that no longer exist.
    private func queues(of partition: AppPartition) async throws(StoreUnreachable) -> [String] {
        let key = RedisWord(NotificationKeys(partition).prefix + "deliveries")
        guard case .array(let queues)? = try? await redis.send(RedisCommand("ZRANGE", key: key, 0, -1)) else {
            throw StoreUnreachable()
        }
        return queues.compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
    }
}
