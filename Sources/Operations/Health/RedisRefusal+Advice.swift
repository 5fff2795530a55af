// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis

extension RedisRefusal {
    /// The advice for the operator. Used by readiness, the status page and the doctor.
    var advice: String {
        // The message of Redis 7 for a script whose user lacks a permission.
        let kind = line.hasPrefix("ERR The user executing the script can't run") ? .noPermission : kind
        return switch kind {
        case .noAuth:
            "Redis requires a login: set GATEWAY_REDIS_PASSWORD_FILE, and GATEWAY_REDIS_USER if not default."
        case .wrongPassword:
            "Correct GATEWAY_REDIS_USER or GATEWAY_REDIS_PASSWORD; ACL LIST on the server shows its users."
        case .noPermission: "Set the user's Redis ACL to the line in docs/redis.md."
        case .readOnly: "This is a replica: set gateway.redis.url to the master or the sentinels (redis+sentinel://)."
        case .outOfMemory: "Raise maxmemory of Redis, or set maxmemory-policy volatile-lru."
        case .misconfigured: "Redis cannot save to disk: see its log. The gateway needs no persistence (save \"\")."
        case .loading, .busy, .tryAgain, .masterDown, .clusterDown:
            "This is usually temporary: check again in a moment, then see the log of Redis."
        case .moved, .ask: "This is a cluster: use redis+cluster:// in gateway.redis.url."
        case .noScript, .other: "The gateway needs Redis 6.2 or later, or a compatible server: see its log."
        }
    }
}
