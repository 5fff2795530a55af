// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import Receipts
internal import RedisStore
internal import Telemetry

/// All settings, in the order of the documentation. The loader, `check-config` and the test of docs/configuration.md
/// read this list.
package enum ConfigurationKeys {
    package static let all: [ConfigurationKey] =
        http + admin + shutdown + access + verification + apple + notifications + events + webhooks + ownership + jobs
        + form + redis + logs

    private static let ports = 0...65_535
    private static let deadlines: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))
    private static let shares = 0.01...1.0
    private static let headerSizes: ClosedRange<ByteCount> = .bytes(256)...(.mebibytes(1))

    private static let http = [
        ConfigurationKey(
            "http.host", \.http.listener.host,
            "Listen address of the data plane; any but loopback requires a clients file."),
        ConfigurationKey("http.port", \.http.listener.port, in: ports, "Port of the data plane."),
        ConfigurationKey(
            "http.host_names", \.http.hostNames,
            "Host names served without a clients file, besides IP addresses and `localhost`."),
        ConfigurationKey(
            "http.limits.target", \.http.limits.target, in: headerSizes,
            "Maximum size of a request target (path and query)."),
        ConfigurationKey(
            "http.limits.header_field", \.http.limits.headerField, in: headerSizes,
            "Maximum size of a header field, name and value together."),
        ConfigurationKey(
            "http.limits.header_list", \.http.limits.headerList, in: headerSizes,
            "Maximum size of all header fields of a request."),
        ConfigurationKey(
            "http.limits.header_field_count", \.http.limits.headerFieldCount, in: 8...1000,
            "Maximum number of header fields in a request."),
        ConfigurationKey(
            "http.limits.body", \.http.limits.body, in: .kibibytes(1)...(.mebibytes(64)),
            "Maximum size of a request body."),
        ConfigurationKey(
            "http.limits.bodies_in_flight", \.http.limits.bodiesInFlight, in: .kibibytes(1)...(.mebibytes(65_536)),
            "Maximum memory for request bodies and their receipts; beyond it requests get 503."),
        ConfigurationKey(
            "http.limits.connections", \.http.limits.connections, in: 1...1_000_000,
            "Maximum number of open connections; more wait to be accepted."),
        ConfigurationKey(
            "http.limits.connections_per_address", \.http.limits.connectionsPerAddress, in: 0...1_000_000,
            "Maximum connections per IPv4 address or IPv6 /64; 0 means a quarter of all. Trusted proxies are exempt."
        ),
        ConfigurationKey(
            "http.limits.requests_per_address", \.http.limits.requestsPerAddress, in: 0...1_000_000,
            "Maximum requests in flight per address named by a trusted proxy; 0 means a quarter of all connections."),
        ConfigurationKey(
            "http.deadlines.headers", \.http.deadlines.headers, in: deadlines,
            "Time limit from connecting to the end of the first request's header."),
        ConfigurationKey(
            "http.deadlines.request", \.http.deadlines.request, in: deadlines,
            "Time limit from the end of a request's header to the end of its body."),
        ConfigurationKey(
            "http.deadlines.answer", \.http.deadlines.answer, in: deadlines,
            "Time limit from the end of a request to the end of its response."),
        ConfigurationKey(
            "http.deadlines.idle", \.http.deadlines.idle, in: deadlines,
            "Time limit from the end of a response to the end of the next request's header."),
        ConfigurationKey(
            "http.trusted_proxies", \.http.remoteAddresses.trustedProxies,
            "Proxies whose forwarding header is trusted."),
        ConfigurationKey(
            "http.forwarding_header", \.http.remoteAddresses.header, "Forwarding header that trusted proxies set."),
        ConfigurationKey(
            "http.legacy_rate_limit_headers", \.http.sendsLegacyRateLimitFields,
            "Send `X-RateLimit-*` besides `RateLimit` to clients with limits."),
    ]

    static let admin = [
        ConfigurationKey("admin.host", \.admin.host, "Listen address of the admin plane, which requires no API key."),
        ConfigurationKey("admin.port", \.admin.port, in: ports, "Port of the admin plane."),
        ConfigurationKey(
            "admin.host_names", \.adminHostNames,
            "Host names served on the admin plane, besides IP addresses and `localhost`."),
    ]

    private static let shutdown = [
        ConfigurationKey(
            "shutdown.drain_delay", \.shutdown.drainDelay, in: .zero ... .seconds(600),
            "Time to keep serving after SIGTERM, so that load balancers notice."),
        ConfigurationKey(
            "shutdown.grace", \.shutdown.grace, in: .zero ... .seconds(600),
            "Time limit for requests in flight after the drain delay."),
    ]

    private static let access = [
        ConfigurationKey(
            "clients_file", \.clientsFile,
            "YAML file with the clients, their hashed API keys and apps; without it only loopback is served."
        ),
        pepper,
    ]

    static let pepper = ConfigurationKey(
        "api_key_pepper", \.apiKeyPepper, "Secret pepper of the API key hashes in the clients file.")

    private static let verification = [
        ConfigurationKey("trust_roots", \.trustRoots, "Root certificates trusted besides Apple's."),
        ConfigurationKey(
            "trust.transaction_receipts_v2", \.verification.acceptsTransactionReceiptVersion2,
            "Accept transaction receipts of version 2 (until 2016), signed with weak keys (RSA-1024, SHA-1)."),
        ConfigurationKey(
            "trust.intermediates", \.intermediatesFile,
            "PEM file with intermediate certificates of transaction receipts besides Apple's."),
        ConfigurationKey(
            "verification.clock_skew", \.verification.clockSkew, in: .zero ... .seconds(86_400),
            "Maximum time a creation or signing date may lie in the future."),
        ConfigurationKey(
            "verification.expiry_grace", \.verification.expiryGrace, in: .zero ... .seconds(31_536_000),
            "Time a signing certificate is accepted after it expired."),
        ConfigurationKey(
            "cache.near.size", \.nearCacheSize, in: .bytes(0)...(.mebibytes(65_536)),
            "Maximum memory of the near cache in this process; 0 disables it."),
        ConfigurationKey(
            "cache.signed_items.size", \.signedItemCacheSize, in: .bytes(0)...(.mebibytes(65_536)),
            "Maximum memory of the signed transactions verified lately in this process; 0 keeps none."),
    ]

    private static let apple = [
        ConfigurationKey("apple.enabled", \.apple.isEnabled, "Send requests to Apple."),
        ConfigurationKey(
            "apple.production_url", \.apple.productionURL, "Apple's production endpoint, which gets each request first."
        ),
        ConfigurationKey(
            "apple.sandbox_url", \.apple.sandboxURL,
            "Apple's sandbox endpoint, for receipts the production endpoint refers to it."),
        ConfigurationKey(
            "apple.shared_secret", \.apple.sharedSecret,
            "The account's primary shared secret, for apps without their own in the clients file."),
        ConfigurationKey(
            "apple.ca_file", \.apple.caFile, "PEM file with the CA certificates to trust instead of the system's."),
        ConfigurationKey("apple.proxy", \.apple.proxy, "HTTP proxy for requests to Apple: `http://host:port`."),
        ConfigurationKey(
            "apple.allow_private_addresses", \.apple.allowsPrivateAddresses,
            "Allow Apple's host names to resolve to private addresses; a URL on this machine always may."),
        ConfigurationKey(
            "apple.deadline", \.apple.timeouts.deadline, in: .milliseconds(100) ... .seconds(30),
            "Time limit of a request to Apple, with one retry and both endpoints."),
        ConfigurationKey(
            "apple.soft_timeout", \.apple.timeouts.softTimeout, in: .milliseconds(10) ... .seconds(30),
            "Time a request that can be answered without Apple waits for Apple."),
        ConfigurationKey(
            "apple.concurrency", \.apple.concurrency, in: 4...10_000, "Maximum requests in flight to one endpoint."),
        ConfigurationKey(
            "apple.max_requests_per_second", \.apple.maximumRequestsPerSecond, in: 0...100_000,
            "Maximum requests to one endpoint per second; 0 means unlimited."),
        ConfigurationKey(
            "apple.breaker", \.apple.breaker,
            "Mode of the circuit breakers that suspend requests to a failing endpoint."),
        ConfigurationKey(
            "apple.receipt_upstream", \.apple.receiptUpstream,
            "Interfaces that answer for receipts, for apps without their own in the clients file."),
        ConfigurationKey(
            "apple.deprecation", \.apple.deprecation,
            "Deprecation date of verifyReceipt, if known before Apple announces it."
        ),
        ConfigurationKey(
            "apple.sunset", \.apple.sunset, "End date of verifyReceipt, if known before Apple announces it."),
        ConfigurationKey(
            "apple.server_api.production_url", \.apple.serverAPI.productionURL,
            "Base URL of the App Store Server API for production."),
        ConfigurationKey(
            "apple.server_api.sandbox_url", \.apple.serverAPI.sandboxURL,
            "Base URL of the App Store Server API for the sandbox."),
        ConfigurationKey(
            "apple.server_api.budget_share", \.apple.serverAPI.budgetShare, in: shares,
            "Share of Apple's hourly limits per app that the gateway uses."),
        ConfigurationKey(
            "apple.server_api.lookup_share", \.apple.serverAPI.lookupShare, in: shares,
            "Share of that budget for transaction IDs without signed evidence."),
        ConfigurationKey(
            "cache.apple.size", \.apple.cacheSize, in: .bytes(0)...(.mebibytes(65_536)),
            "Maximum memory for cached results of requests to Apple; 0 keeps none in this process."),
        ConfigurationKey(
            "cache.keys", \.cacheKeys,
            "Encryption keys for Redis: up to four `id:base64` of 32 random bytes, comma-separated. The first encrypts."
        ),
    ]

    private static let notifications = [
        ConfigurationKey(
            "notifications.token", \.notifications.token,
            "Secret last segment of the path for Apple's notifications: `/apple/notifications/{token}`."),
        ConfigurationKey(
            "notifications.backlog", \.notifications.backlog, in: .mebibytes(1)...(.mebibytes(65_536)),
            "Maximum size of the notifications that are stored and not applied yet, of all apps together."),
        ConfigurationKey(
            "notifications.replicas", \.notifications.replicas, in: 0...8,
            "Number of Redis replicas that must have a notification before Apple gets an answer."),
        ConfigurationKey(
            "notifications.allow_volatile", \.notifications.allowsVolatile,
            "Accept notifications without Redis; the states they leave end with the process."),
        ConfigurationKey(
            "notifications.recovery_interval", \.notifications.recoveryInterval, in: .seconds(60) ... .seconds(86_400),
            "Time between two reads of Apple's notification history."),
    ]

    private static let events = [
        ConfigurationKey(
            "events.max_count", \.events.retention.maximumCount, in: 1000...10_000_000,
            "Maximum number of events kept for one app; the oldest are removed."),
        ConfigurationKey(
            "events.max_age", \.events.retention.maximumAge, in: .seconds(3600) ... .seconds(365 * 86_400),
            "Maximum age of an event."),
        ConfigurationKey(
            "events.max_relay_bytes", \.events.retention.maximumRelayBytes.byteCount,
            in: .mebibytes(64)...(.mebibytes(1_048_576)),
            "Maximum size of the notifications kept for one app's relay; the oldest are removed."),
        ConfigurationKey(
            "events.keep_signed_data", \.events.rules.keepsSignedData,
            "Keep what Apple signed with each event, for clients and endpoints that request it."),
        ConfigurationKey(
            "events.expiry_delay", \.events.rules.expiryDelay, in: .seconds(60) ... .seconds(7 * 86_400),
            "Time after the end of a period at which a subscription without other news counts as expired."),
    ]

    private static let webhooks = [
        ConfigurationKey(
            "webhooks.allow_private_addresses", \.webhooks.allowsPrivateAddresses,
            "Allow the endpoints of webhooks to have private addresses, such as addresses of this network or machine."),
        ConfigurationKey(
            "webhooks.allow_http", \.webhooks.allowsPlainHTTP,
            "Allow endpoints with `http` URLs: events cross the network in the clear."),
        ConfigurationKey(
            "webhooks.ca_file", \.webhooks.caFile,
            "PEM file with the CA certificates to trust for endpoints instead of the system's."),
        ConfigurationKey(
            "webhooks.proxy", \.webhooks.proxy,
            "HTTP proxy for webhooks, `http://host:port`; it must refuse private addresses itself."),
        ConfigurationKey(
            "webhooks.timeout", \.webhooks.timeout, in: .seconds(1) ... .seconds(60),
            "Time limit of one attempt to deliver an event."),
        ConfigurationKey(
            "webhooks.concurrency", \.webhooks.concurrency, in: 1...256,
            "Maximum attempts in flight to one endpoint, on each node."),
    ]

    private static let ownership = [
        ConfigurationKey(
            "ownership.retention", \.ownership.retention, in: .seconds(86_400) ... .seconds(3650 * 86_400),
            "Time after its last use at which the account of a purchase is forgotten."),
        ConfigurationKey(
            "ownership.max_accounts", \.ownership.maximumAccounts, in: 1...OwnershipRules.Limits.accounts - 1,
            "Maximum number of accounts that may use one purchase within the window; one more is suspicious."),
        ConfigurationKey(
            "ownership.window", \.ownership.window, in: .seconds(3600) ... .seconds(365 * 86_400),
            "Time within which the accounts of a purchase are counted, and `fraud.suspected` is sent once."),
    ]

    private static let jobs = [
        ConfigurationKey(
            "jobs.max_age", \.jobs.maximumAge, in: .seconds(60) ... .seconds(30 * 86_400),
            "Time for which a deferred verification waits for Apple."),
        ConfigurationKey(
            "jobs.retention", \.jobs.retention, in: .seconds(60) ... .seconds(400 * 86_400),
            "Time for which the result of a deferred verification is kept."),
        ConfigurationKey(
            "jobs.max_count", \.jobs.maximumCount, in: 1...1_000_000,
            "Maximum number of waiting verifications of one client; beyond it requests get 429."),
        ConfigurationKey(
            "jobs.max_bytes", \.jobs.maximumBytes.byteCount, in: .kibibytes(64)...(.mebibytes(65_536)),
            "Maximum size of the waiting verifications of one client; beyond it requests get 429."),
        ConfigurationKey(
            "jobs.max_total_bytes", \.jobs.maximumTotalBytes.byteCount, in: .kibibytes(64)...(.mebibytes(1_048_576)),
            "Maximum size of the waiting verifications of all clients; beyond it requests get 503."),
    ]

    private static let form = [
        ConfigurationKey(
            "form.body_limit", \.form.bodyLimit, in: .kibibytes(16)...(.mebibytes(64)),
            "Maximum size of one request body of POST /api and /apiencrypted."),
        ConfigurationKey(
            "form.statuses", \.form.statuses,
            "HTTP statuses for 401, 403 and 500 in the JSON of these two: 200, or the same."),
        ConfigurationKey(
            "form.envelope", \.form.envelope,
            "Form of encrypted answers: base64 as text/plain, or as a JSON string."),
        keyForm,
    ]

    static let keyForm = ConfigurationKey(
        "form.encryption_keys", \.form.keyForm,
        "Form of the apps' encryption keys: encoded in base64 or hexadecimal, or the characters themselves.")

    private static let redis = [
        ConfigurationKey(
            "redis.url", \.redis.url,
            "URL of the Redis that all nodes share; without it each node runs alone."),
        ConfigurationKey("redis.user", \.redis.user, "Redis ACL user name; overrides the URL's."),
        ConfigurationKey("redis.password", \.redis.password, "Redis password; overrides the URL's."),
        ConfigurationKey(
            "redis.ca_file", \.redis.caFile, "PEM file with the CA certificates to trust instead of the system's."),
        ConfigurationKey(
            "redis.certificate_file", \.redis.certificateFile,
            "PEM file with the gateway's client certificate for Redis."),
        ConfigurationKey("redis.key_file", \.redis.keyFile, "PEM file with the client certificate's private key."),
        ConfigurationKey(
            "redis.deadline", \.redis.deadline, in: .milliseconds(1) ... .seconds(30),
            "Time limit of a Redis command."),
        ConfigurationKey(
            "redis.connect_deadline", \.redis.connectDeadline, in: .milliseconds(10) ... .seconds(30),
            "Time limit of an attempt to connect to Redis, including the login."),
        ConfigurationKey(
            "redis.expected_nodes", \.redis.expectedNodes, in: 1...1000,
            "Number of nodes that share the limits until Redis has reported it."),
    ]

    private static let logs = [
        ConfigurationKey("log.level", \.log.values.level, "Minimum level that is logged."),
        ConfigurationKey(
            "log.requests", \.log.values.requests,
            "Requests that get a log line: all, none, or sampled (failed and slow requests, and a share of the rest)."),
        ConfigurationKey(
            "log.sampling.one_in", \.log.sampling.oneIn, in: 1...1_000_000,
            "With sampling: one in so many ordinary requests gets a line."),
        ConfigurationKey(
            "log.sampling.slow", \.log.sampling.slow, in: .milliseconds(1) ... .seconds(60),
            "With sampling: the duration from which a request counts as slow."),
        ConfigurationKey(
            "log.sampling.notable_per_second", \.log.sampling.notablePerSecond, in: 1...10_000,
            "With sampling: maximum lines per second for 5xx, for 4xx and for slow requests each."),
    ]
}

extension GatewayConfiguration {
    /// All settings with their values, as YAML with full names and redacted secrets.
    package var effectiveText: String {
        ConfigurationKeys.all.map { key in
            let isDefault = key.text(self) == key.defaultText
            return "\(key.fileName): \(key.text(self))\(isDefault ? "  # default" : "")\n"
        }.joined()
    }
}
