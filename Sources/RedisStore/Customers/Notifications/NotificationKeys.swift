// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
package import Redis

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

    init(_ partition: AppPartition) { prefix = "gw:{n:\(partition.bundleID.appName):\(partition.number)}:" }

    var pending: RedisWord { key("pending") }
    var seen: RedisWord { key("seen") }
    var totals: RedisWord { key("totals") }
    var dead: RedisWord { key("dead") }
    var states: RedisWord { key("states") }
    var due: RedisWord { key("due") }
    var events: RedisWord { log(.events) }
    var relay: RedisWord { log(.relay) }

    private func key(_ name: String) -> RedisWord { RedisWord(prefix + name) }

    func state(_ name: String) -> String { prefix + "state:" + name }

    /// The name that binds an encrypted notification to its partition.
    var sealedName: String { prefix + "notification" }

    /// The name that binds an encrypted event to its partition.
    var sealedEventName: String { prefix + "event" }

    func log(_ stream: EventStream) -> RedisWord { key(stream.rawValue) }

    func erased(_ stream: EventStream) -> RedisWord { key(stream.rawValue + ":erased") }
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
    var appName: Substring { Fingerprint(of: Array(utf8).span).description.prefix(16) }
}

extension PurchaseChain {
    var nameParts: [[UInt8]] { [bundleID, environment.rawValue, originalTransactionID].map { Array($0.utf8) } }
}

extension EntryNames {
    func names(of identity: NotificationIdentity) -> [String] {
        names("notification", identity.parts.map { Array($0.utf8) })
    }

    func states(of chain: PurchaseChain) -> [String] { names("customer state", chain.nameParts) }

    /// Returns the name of an item in the hash of its chain, under the first key. Unique in one chain, so it is short.
    func field(of item: SignedStateItem) -> String {
        switch item {
        case .transaction(let transaction):
            "t" + keys[0].names.name("state item", [Array(transaction.transactionID.utf8)]).prefix(22)
        case .renewal: "r"
        }
    }
}

/// Commands that use everything the gateway needs of Redis for notifications, events, deliveries and deferred
/// verifications, in keys of their own that end with them.
package struct NotificationProbes: Sendable {
    package let commands: [RedisCommand]

    package init(_ token: String) {
        let names = ["pending", "seen", "totals", "dead", "state"]
        let keys = names.map { RedisWord("gw:{doctor-\(token)}:\($0)") }
        let (pending, seen, totals, dead, state) = (keys[0], keys[1], keys[2], keys[3], keys[4])
        let group: RedisWord = "doctor"
        commands = [
            RedisCommand("EXISTS", key: pending),
            RedisCommand(["XGROUP", "CREATE", pending, group, 0, "MKSTREAM"], key: pending),
            RedisCommand("XADD", key: pending, "1-1", "n", "doctor"), RedisCommand("XLEN", key: pending),
            RedisCommand(["XREADGROUP", "GROUP", group, group, "STREAMS", pending, ">"], key: pending),
            RedisCommand("XAUTOCLAIM", key: pending, group, group, 0, "0-0"),
            RedisCommand("XRANGE", key: pending, "-", "+"), RedisCommand("XREVRANGE", key: pending, "+", "-"),
            RedisCommand("XACK", key: pending, group, "1-1"), RedisCommand("XDEL", key: pending, "1-1"),
            RedisCommand("XTRIM", key: dead, "MAXLEN", 1), RedisCommand("ZSCORE", key: seen, "doctor"),
            RedisCommand("ZRANGE", key: seen, -1, -1), RedisCommand("ZRANGEBYSCORE", key: seen, 1, 2),
            RedisCommand("ZREVRANGEBYSCORE", key: seen, 2, 1),
            RedisCommand(["SCAN", 0, "MATCH", pending, "COUNT", 1], key: pending),
            RedisCommand("HSET", key: state, "r", "doctor"),
            RedisCommand("HINCRBY", key: totals, "bytes", 1), RedisCommand("HGET", key: state, "r"),
            RedisCommand("HGETALL", key: state), RedisCommand("HMGET", key: state, "r"),
            RedisCommand("HLEN", key: state),
            RedisCommand("HEXISTS", key: state, "r"), RedisCommand("HDEL", key: state, "r"),
            RedisCommand(["INFO", "memory"], key: pending), RedisCommand(["WAIT", 0, 1], key: pending),
            RedisCommand(["DEL"] + keys, key: pending),
        ]
    }
}
