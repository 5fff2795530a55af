// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis

/// Commands that use everything the gateway needs of Redis for notifications, events, deliveries and deferred
/// verifications, in keys of their own that end with them.
package struct NotificationProbes: Sendable {
    package let commands: [RedisCommand]

    /// - Parameter token: makes the keys unique.
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
