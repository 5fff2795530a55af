// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import RedisStore

/// All commands of the gateway, on the doctor's own keys, which expire within a second. Their prefixes are the
/// gateway's, because an ACL may be limited to those. Commands used only in scripts are also sent alone: Redis does not
/// name a command it refuses within a script.
struct RedisProbes: Sendable {
    let commands: [RedisCommand]

    /// The lifetime of all keys in milliseconds.
    private static let life: RedisWord = 1000

    /// - Parameter token: makes the keys unique.
    init(token: String = .randomName()) {
        commands =
            Self.results(RedisWord("\(SharedCacheNames.resultPrefix)doctor-\(token)"))
            + Self.nodes(RedisWord("gw:doctor:nodes-\(token)")) + Self.purges(RedisWord("gw:doctor:purges-\(token)"))
            + [RedisCommand("TIME")] + Self.scripts(token)
    }

    private static func results(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("SET", key: key, "", "PX", life), RedisCommand("GET", key: key),
            RedisCommand("PTTL", key: key), RedisCommand("DEL", key: key),
        ]
    }

    private static func nodes(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("ZADD", key: key, 1, "doctor"), RedisCommand("PEXPIRE", key: key, life),
            RedisCommand("ZCARD", key: key), RedisCommand("ZREMRANGEBYSCORE", key: key, 2, 3),
            RedisCommand("ZREM", key: key, "doctor"),
        ]
    }

    private static func purges(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("RPUSH", key: key, "doctor"), RedisCommand("PEXPIRE", key: key, life),
            RedisCommand("LTRIM", key: key, -1, -1), RedisCommand("LLEN", key: key),
            RedisCommand("LRANGE", key: key, 0, -1),
        ]
    }

    /// Returns each script once by its hash, and one of them whole, as after `SCRIPT FLUSH`.
    private static func scripts(_ token: String) -> [RedisCommand] {
        let lease = RedisWord("\(RedisFlightLeases.prefix)doctor-\(token)"), bucket = RedisWord("rl:{doctor-\(token)}")
        let node = RedisWord("gw:doctor:\(token)")
        return [
            RedisFlightLeases.acquisition.call(keys: [lease], [RedisWord(token), life, ""]),
            RedisFlightLeases.release.call(keys: [lease], [RedisWord(token), "", life]),
            // One token from a bucket of one, which is full again after a millisecond.
            RedisTokenBuckets.script.call(keys: [bucket], [1, 1, 1000, 1, 0, 0, 0, 0]),
            RedisFleetState.pause.call(keys: [RedisWord("\(RedisFleetState.pausePrefix)doctor-\(token)")], [life, 0]),
            // No announcement: it would not expire.
            RedisFleetState.lifecycle.call(
                keys: [RedisWord("\(RedisFleetState.lifecyclePrefix)doctor-\(token)")], ["", 0, life]),
            // A missing history stays missing.
            RedisPurges.restart.call(
                keys: [RedisWord("gw:{doctor-\(token)}:head"), RedisWord("gw:{doctor-\(token)}:log")], ["none", "1"]),
            NodeRegistry.beat.call(keys: [node], ["doctor", life]),
            NodeRegistry.beat.wholeCall(keys: [node], ["doctor", life]),
        ]
    }
}
