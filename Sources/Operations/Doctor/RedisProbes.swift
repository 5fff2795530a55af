// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import RedisStore

/// Every command that the gateway sends, on keys of the doctor's own that end within a second. They begin as the
/// gateway's do, for a user of Redis may be kept to those. What only scripts call is sent by itself, too: Redis does not
/// name the command when it refuses one of a script's.
struct RedisProbes: Sendable {
    let commands: [RedisCommand]

    /// The milliseconds after which nothing is left.
    private static let life: RedisWord = 1000

    /// - Parameter token: makes the names of the keys.
    init(token: String = .randomName()) {
        commands =
            Self.findings(RedisWord("\(SharedCacheNames.resultPrefix)doctor-\(token)"))
            + Self.nodes(RedisWord("gw:doctor:nodes-\(token)")) + Self.purges(RedisWord("gw:doctor:purges-\(token)"))
            + [RedisCommand("TIME")] + Self.scripts(token)
    }

    private static func findings(_ key: RedisWord) -> [RedisCommand] {
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

    /// Each script once by its name, and one of them whole, as after `SCRIPT FLUSH`.
    private static func scripts(_ token: String) -> [RedisCommand] {
        let lease = RedisWord("\(RedisFlightLeases.prefix)doctor-\(token)"), bucket = RedisWord("rl:{doctor-\(token)}")
        let node = RedisWord("gw:doctor:\(token)")
        return [
            RedisFlightLeases.acquisition.call(keys: [lease], [RedisWord(token), life, ""]),
            RedisFlightLeases.release.call(keys: [lease], [RedisWord(token), "", life]),
            // One request of one token from a bucket of one, which is full again after a millisecond.
            RedisTokenBuckets.script.call(keys: [bucket], [1, 1, 1000, 1, 0, 0, 0, 0]),
            RedisFleetState.pause.call(keys: [RedisWord("\(RedisFleetState.pausePrefix)doctor-\(token)")], [life, 0]),
            // Nothing is announced: what it would write has no end.
            RedisFleetState.lifecycle.call(
                keys: [RedisWord("\(RedisFleetState.lifecyclePrefix)doctor-\(token)")], ["", 0, life]),
            // A history that there is not stays as it is.
            RedisPurges.restart.call(
                keys: [RedisWord("gw:{doctor-\(token)}:head"), RedisWord("gw:{doctor-\(token)}:log")], ["none", "1"]),
            NodeRegistry.beat.call(keys: [node], ["doctor", life]),
            NodeRegistry.beat.wholeCall(keys: [node], ["doctor", life]),
        ]
    }
}
