// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis

/// The nodes that are alive, in one sorted set by the time at which each last said so: the time of Redis, so that no
/// node's clock matters.
package struct NodeRegistry: Sendable {
    /// Where the nodes are.
    let store: any RedisCommands
    /// Learns how many there are.
    let health: StoreHealth
    /// This node; another one each time the process starts.
    private let name = String.randomName()

    /// Not below a prefix that is announced: each beat would be told to all.
    static let key: RedisWord = "gw:nodes"

    enum Limits {
        /// How often a node says that it is alive.
        static let beat: Duration = .seconds(2)
        /// Who says nothing for so long is gone: three beats, and one that is late.
        static let lifetimeMilliseconds = 7000
    }

    init(_ store: any RedisCommands, health: StoreHealth) {
        self.store = store
        self.health = health
    }

    /// Says that this node is alive, and learns how many are.
    func beat() async {
        let reply = try? await store.run(
            Self.beat, keys: [Self.key], [RedisWord(name), RedisWord(Limits.lifetimeMilliseconds)])
        guard case .integer(let count)? = reply else { return }
        health.noteLiveNodes(Int(clamping: count))
    }

    /// Says that this node is going.
    func leave() async {
        _ = try? await store.send(RedisCommand("ZREM", key: Self.key, RedisWord(name)))
    }

    /// The script, to be loaded before it is called.
    static let scripts = [beat]

    /// KEYS nodes; ARGV name, milliseconds. How many nodes are alive. A clock that was set back leaves nobody behind in
    /// the future.
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
