// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The customer states of Redis, as a store of their own: the chains of renamed purchases are found by them, so they are
/// deleted after everything else.
struct RedisStateErasure: CustomerDataStore {
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
