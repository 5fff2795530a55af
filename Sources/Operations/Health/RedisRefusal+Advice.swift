// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis

extension RedisRefusal {
    /// What the operator has to do about it. The same words in readiness, on the status page and by the doctor.
    var advice: String {
        // What Redis 7 says of a script whose user may not do what it does.
        let kind = line.hasPrefix("ERR The user executing the script can't run") ? .noPermission : kind
        return switch kind {
        case .noAuth:
            "Redis wants a login: set GATEWAY_REDIS_PASSWORD_FILE, and GATEWAY_REDIS_USER for another than default."
        case .wrongPassword:
            "Correct GATEWAY_REDIS_USER or GATEWAY_REDIS_PASSWORD; ACL LIST on the server shows its users."
        case .noPermission: "Give the user in Redis's ACL what docs/operations.md lists in one line."
        case .readOnly: "This is a replica: name the master in gateway.redis.url, or the sentinels (redis+sentinel://)."
        case .outOfMemory: "Raise maxmemory of Redis, or set maxmemory-policy volatile-lru."
        case .misconfigured: "Redis cannot save to disk: see its log. The gateway needs nothing saved (save \"\")."
        case .loading, .busy, .tryAgain, .masterDown, .clusterDown:
            "This passes as a rule: look again in a moment, then at the log of Redis."
        case .moved, .ask: "This is a cluster: write redis+cluster:// in gateway.redis.url."
        case .noScript, .other: "The gateway is made for Redis 6.2 and later, or what answers like it: see its log."
        }
    }
}
