// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis

/// The live nodes, in a sorted set by their last heartbeat. Redis sets the time, so that no node's clock matters.
package struct NodeRegistry: Sendable {
    let store: any RedisCommands
    let health: StoreHealth
    /// The name of this node, new at each start of the process.
    private let name = String.randomName()

    /// The set's key. It has no tracked prefix: each heartbeat would be announced to all nodes.
    static let key: RedisWord = "gw:nodes"

    enum Limits {
        /// The heartbeat interval.
        static let beat: Duration = .seconds(2)
        /// The time without a heartbeat after which a node is dropped: three intervals and a late one.
        static let lifetimeMilliseconds = 7000
    }

    /// Sends a heartbeat, and reads the number of live nodes.
    func beat() async {
        let reply = try? await store.run(
            Self.beat, keys: [Self.key], [RedisWord(name), RedisWord(Limits.lifetimeMilliseconds)])
        guard case .integer(let count)? = reply else { return }
        health.recordLiveNodes(Int(clamping: count))
    }

    /// Removes this node.
    func leave() async {
        _ = try? await store.send(RedisCommand("ZREM", key: Self.key, RedisWord(name)))
    }

    /// KEYS nodes; ARGV name, milliseconds. Returns the number of live nodes. Entries in the future, left by a clock
    /// that was set back, are removed.
    package static let beat = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - tonumber(ARGV[2])))
        redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')
        redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        return redis.call('ZCARD', KEYS[1])
        """)
}
