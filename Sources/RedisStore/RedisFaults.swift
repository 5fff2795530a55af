// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Redis

// Messages about Redis for operators: of the doctor, of readiness, and of the status page.

extension RedisConnectionFault {
    package var seen: String {
        switch self {
        case .unreachable(let words): "cannot be reached: \(words.printable(maximum: 200))"
        case .tls(let fault): "TLS failed: \(fault.seen)"
        case .stalled: "connected, but the login is not answered"
        case .protocolViolation: "the answer is not Redis's"
        case .closed: "the connection was closed during the login"
        case .refused(let refusal): refusal.seen
        case .shutDown: "this program stopped"
        }
    }

    package func advice(_ url: RedisURL) -> String {
        switch self {
        case .unreachable: "Start Redis, or correct gateway.redis.url; a firewall may be in between."
        case .tls(let fault): fault.advice
        case .stalled, .protocolViolation, .closed:
            url.usesTLS
                ? "Check the port: Redis must use TLS there (tls-port)."
                : "Check the port; if Redis uses TLS there, write rediss instead of redis."
        case .refused(let refusal): refusal.advice
        case .shutDown: "Run the doctor again."
        }
    }

    /// The advice for a fault that only an operator can fix. Used by readiness and the status page.
    package var configurationAdvice: String? {
        switch self {
        case .refused(let refusal): refusal.advice
        case .tls(let fault): fault.advice
        case .unreachable, .stalled, .protocolViolation, .closed, .shutDown: nil
        }
    }

    /// The word for a fault that only an operator can fix: the first of Redis's error, or the reason of TLS.
    package var configurationWord: String? {
        switch self {
        case .refused(let refusal): refusal.kind.rawValue
        case .tls(let fault): fault.rawValue
        case .unreachable, .stalled, .protocolViolation, .closed, .shutDown: nil
        }
    }
}

extension RedisTLSFault {
    fileprivate var seen: String {
        switch self {
        case .certificateUntrusted: "the certificate of Redis has expired, or is of no trusted authority"
        case .certificateOfOtherHost: "the certificate of Redis names another host"
        case .clientCertificateRequired: "Redis requires a client certificate"
        case .clientCertificateRejected: "Redis rejects the handshake"
        case .notTLS: "the port does not use TLS"
        case .interrupted: "the handshake was cut short"
        }
    }

    fileprivate var advice: String {
        switch self {
        case .certificateUntrusted:
            "Set GATEWAY_REDIS_CA_FILE to the CA of Redis's certificate, or renew an expired certificate."
        case .certificateOfOtherHost: "Use the host name that the certificate of Redis names in gateway.redis.url."
        case .clientCertificateRequired:
            "Set GATEWAY_REDIS_CERTIFICATE_FILE and GATEWAY_REDIS_KEY_FILE, or tls-auth-clients no at Redis."
        case .clientCertificateRejected:
            "Set or check GATEWAY_REDIS_CERTIFICATE_FILE: Redis must trust its CA (tls-ca-cert-file), and offer TLS 1.2."
        case .notTLS: "Check the port; if Redis uses no TLS there, write redis instead of rediss."
        case .interrupted: "See the log of Redis, and run the doctor again."
        }
    }
}

extension RedisError {
    package var seen: String {
        switch self {
        case .notConnected, .connectionLost: "the connection was lost"
        case .timeout: "the answer timed out"
        case .pipelineFull, .shutDown: "not sent"
        case .protocolViolation: "the answer is not Redis's"
        case .refused(let refusal): refusal.seen
        }
    }

    package var advice: String {
        if case .refused(let refusal) = self { return refusal.advice }
        return "See the log of Redis, and run the doctor again."
    }
}

extension RedisRefusal {
    fileprivate var seen: String {
        let words = line.printable(maximum: 200)
        return "Redis answered \(String(words.reversed().drop { $0 == "." }.reversed()))"
    }

    package var advice: String {
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
        case .misconfigured:
            """
            Redis cannot save to disk: see its log, and free space. Without notifications, deferred verifications and \
            `ownership` the gateway needs no persistence (save "").
            """
        case .loading, .busy, .tryAgain, .masterDown, .clusterDown:
            "This is usually temporary: check again in a moment, then see the log of Redis."
        case .moved, .ask: "This is a cluster: use redis+cluster:// in gateway.redis.url."
        case .other where line.hasPrefix("NOREPLICAS"):
            "Redis has fewer replicas than min-replicas-to-write: start them, or lower it."
        case .noScript, .other: "The gateway needs Redis 6.2 or later, or a compatible server: see its log."
        }
    }
}
