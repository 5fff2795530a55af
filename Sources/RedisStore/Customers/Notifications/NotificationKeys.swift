// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The keys of one partition in Redis. None expires, so that `volatile-*` policies evict none; the writers trim them by
/// age.
///
/// ```
/// gw:{n:<app>:<number>}:pending      stream: the notifications that are not applied yet, encrypted
/// gw:{n:<app>:<number>}:seen         sorted set: the identities of the last days, by the time of intake
/// gw:{n:<app>:<number>}:totals       hash: bytes pending, time of the last intake, number and ID of the last events
/// gw:{n:<app>:<number>}:dead         stream: the notifications that cannot be applied, encrypted
/// gw:{n:<app>:<number>}:state:<name> hash: the signed states of one chain, encrypted
/// gw:{n:<app>:<number>}:states       sorted set: the keys of the states, by the time of their last change
/// gw:{n:<app>:<number>}:due          sorted set: the keys of the states, by the next time at which dates make an event
/// gw:{n:<app>:<number>}:events       stream: the events, numbered from 1 and encrypted
/// gw:{n:<app>:<number>}:relay        stream: notifications that endpoints receive unchanged, numbered and encrypted
/// gw:{n:<app>:<number>}:events:erased, …:relay:erased   sorted sets: the numbers of deleted entries
/// ```
/// `DeliveryKeys` has the keys of deliveries, `OwnershipKeys` the keys of bindings.
///
/// The app is a digest of its bundle ID without a secret: a partition keeps its place when the cache keys change.
struct NotificationKeys: Sendable {
    let prefix: String
    let pending: RedisWord
    let seen: RedisWord
    let totals: RedisWord
    let dead: RedisWord
    let states: RedisWord
    let due: RedisWord
    let events: RedisWord
    let relay: RedisWord

    init(_ partition: AppPartition) {
        prefix = "gw:{n:\(partition.bundleID.appName):\(partition.number)}:"
        pending = RedisWord(prefix + "pending")
        seen = RedisWord(prefix + "seen")
        totals = RedisWord(prefix + "totals")
        dead = RedisWord(prefix + "dead")
        states = RedisWord(prefix + "states")
        due = RedisWord(prefix + "due")
        events = RedisWord(prefix + EventStream.events.rawValue)
        relay = RedisWord(prefix + EventStream.relay.rawValue)
    }

    func state(_ name: String) -> String { prefix + "state:" + name }

    /// The name that binds an encrypted notification to its partition.
    var sealedName: String { prefix + "notification" }

    /// The name that binds an encrypted event to its partition.
    var sealedEventName: String { prefix + "event" }

    func log(_ stream: EventStream) -> RedisWord { stream == .events ? events : relay }

    func erased(_ stream: EventStream) -> RedisWord { RedisWord(prefix + stream.rawValue + ":erased") }
}

/// The keys of the recovery of an app's notifications: the time up to which the history was read, and a lease.
struct RecoveryKeys: Sendable {
    let recovered: RedisWord
    let lease: RedisWord

    init(_ bundleID: String, _ environment: Environment) {
        let prefix = "gw:{n:\(bundleID.appName)}:"
        recovered = RedisWord(prefix + "recovered:\(environment.rawValue)")
        lease = RedisWord(prefix + "recovering:\(environment.rawValue)")
    }
}

extension String {
    /// The name of an app in keys, by its bundle ID.
    var appName: Substring { Fingerprint(of: Array(utf8).span).description.prefix(16) }
}

/// Pseudonymous names under every cache key; the first writes.
struct NotificationNames: Sendable {
    private let names: [StoreNames]

    init(_ keys: StoreKeys) { names = keys.all.map { StoreNames($0) } }

    func names(of identity: NotificationIdentity) -> [String] {
        names.map { $0.name("notification", identity.parts.map { Array($0.utf8) }) }
    }

    func names(of chain: PurchaseChain) -> [String] {
        let parts = [chain.bundleID, chain.environment.rawValue, chain.originalTransactionID]
        return names.map { $0.name("customer state", parts.map { Array($0.utf8) }) }
    }

    /// Returns the name of an item in the hash of its chain, under the first key. Unique in one chain, so it is short.
    func field(of item: SignedStateItem) -> String {
        switch item {
        case .transaction(let transaction):
            "t" + names[0].name("state item", [Array(transaction.transactionID.utf8)]).prefix(22)
        case .renewal: "r"
        }
    }
}
