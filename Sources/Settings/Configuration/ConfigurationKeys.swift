// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Every setting there is, in the order of the documentation. The only list of them: the loader, `check-config` and
/// the test of docs/configuration.md all read it.
package enum ConfigurationKeys {
    /// All settings.
    package static let all: [ConfigurationKey] = http + admin + shutdown + access + judgement + apple + redis + logs

    private static let ports = 0...65_535
    private static let deadlines: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))
    private static let headerSizes: ClosedRange<ByteCount> = .bytes(256)...(.mebibytes(1))

    private static let http = [
        ConfigurationKey(
            "http.host", \.http.listener.host, "Address of the data plane; other than loopback needs clients."),
        ConfigurationKey("http.port", \.http.listener.port, in: ports, "Port of the data plane."),
        ConfigurationKey(
            "http.host_names", \.http.hostNames,
            "Host names that are served without a clients file, beside IP addresses and `localhost`."),
        ConfigurationKey(
            "http.limits.target", \.http.limits.target, in: headerSizes, "Longest request target, path and query."),
        ConfigurationKey(
            "http.limits.header_field", \.http.limits.headerField, in: headerSizes,
            "Largest header field, name and value together."),
        ConfigurationKey(
            "http.limits.header_list", \.http.limits.headerList, in: headerSizes,
            "Largest sum of a request's header fields."),
        ConfigurationKey(
            "http.limits.header_field_count", \.http.limits.headerFieldCount, in: 8...1000,
            "Most header fields in a request."),
        ConfigurationKey(
            "http.limits.body", \.http.limits.body, in: .kibibytes(1)...(.mebibytes(64)), "Largest request body."),
        ConfigurationKey(
            "http.limits.bodies_in_flight", \.http.limits.bodiesInFlight, in: .kibibytes(1)...(.mebibytes(65_536)),
            "Most bytes of request bodies in memory at one time; beyond it requests get 503."),
        ConfigurationKey(
            "http.limits.connections", \.http.limits.connections, in: 1...1_000_000,
            "Most connections open at one time; more wait to be accepted."),
        ConfigurationKey(
            "http.limits.connections_per_address", \.http.limits.connectionsPerAddress, in: 0...1_000_000,
            "Most connections of one IPv4 address or IPv6 /64; 0 is a quarter of all. Trusted proxies may have any number."
        ),
        ConfigurationKey(
            "http.limits.requests_per_address", \.http.limits.requestsPerAddress, in: 0...1_000_000,
            "Most requests in flight of one address that a trusted proxy names; 0 is a quarter of all connections."),
        ConfigurationKey(
            "http.deadlines.headers", \.http.deadlines.headers, in: deadlines,
            "From the connection to the end of the first request's header."),
        ConfigurationKey(
            "http.deadlines.request", \.http.deadlines.request, in: deadlines,
            "From the end of a request's header to the end of its body."),
        ConfigurationKey(
            "http.deadlines.answer", \.http.deadlines.answer, in: deadlines,
            "From the end of a request to the end of its answer."),
        ConfigurationKey(
            "http.deadlines.idle", \.http.deadlines.idle, in: deadlines,
            "From the end of an answer to the end of the next request's header."),
        ConfigurationKey(
            "http.trusted_proxies", \.http.remoteAddresses.trustedProxies,
            "Proxies that are believed when they say whom they serve."),
        ConfigurationKey(
            "http.forwarding_header", \.http.remoteAddresses.header, "The header field in which they say it."),
        ConfigurationKey(
            "http.legacy_rate_limit_headers", \.http.sendsLegacyRateLimitFields,
            "Whether limited clients get `X-RateLimit-*` beside `RateLimit`."),
    ]

    /// Where the admin plane listens.
    static let admin = [
        ConfigurationKey("admin.host", \.admin.host, "Address of the admin plane, which asks for no key."),
        ConfigurationKey("admin.port", \.admin.port, in: ports, "Port of the admin plane."),
        ConfigurationKey(
            "admin.host_names", \.adminHostNames,
            "Host names that the admin plane serves, beside IP addresses and `localhost`."),
    ]

    private static let shutdown = [
        ConfigurationKey(
            "shutdown.drain_delay", \.shutdown.drainDelay, in: .zero ... .seconds(600),
            "How long to go on serving after SIGTERM, so that load balancers notice."),
        ConfigurationKey(
            "shutdown.grace", \.shutdown.grace, in: .zero ... .seconds(600),
            "How long requests in flight may still take after that."),
    ]

    private static let access = [
        ConfigurationKey(
            "clients_file", \.clientsFile,
            "YAML file with the clients, their hashed API keys and their apps; without it only loopback is served."),
        ConfigurationKey(
            pepperName, \.apiKeyPepper, "The secret under which the clients file hashes API keys."),
    ]

    /// The one setting that `hash-key` needs.
    static let pepperName = "api_key_pepper"

    private static let judgement = [
        ConfigurationKey("trust_roots", \.trustRoots, "Certificates trusted beside Apple's roots."),
        ConfigurationKey(
            "verification.clock_skew", \.verification.clockSkew, in: .zero ... .seconds(86_400),
            "How far in the future a receipt's creation date may lie."),
        ConfigurationKey(
            "verification.expiry_grace", \.verification.expiryGrace, in: .zero ... .seconds(31_536_000),
            "How long after its end a signing certificate is still accepted."),
        ConfigurationKey(
            "cache.near.size", \.nearCache.size, in: .bytes(0)...(.mebibytes(65_536)),
            "Most memory for answers kept in this process; 0 keeps none."),
    ]

    private static let apple = [
        ConfigurationKey("apple.enabled", \.apple.isEnabled, "Whether Apple is asked at all."),
        ConfigurationKey(
            "apple.production_url", \.apple.productionURL, "Apple's production endpoint, which is asked first."),
        ConfigurationKey(
            "apple.sandbox_url", \.apple.sandboxURL, "Apple's sandbox endpoint, asked where the first says so."),
        ConfigurationKey(
            "apple.shared_secret", \.apple.sharedSecret,
            "The account's primary shared secret, for apps that have none of their own in the clients file."),
        ConfigurationKey(
            "apple.ca_file", \.apple.caFile, "PEM file with the authorities to trust instead of the system's."),
        ConfigurationKey("apple.proxy", \.apple.proxy, "`http://host:port` of the proxy on the way to Apple."),
        ConfigurationKey(
            "apple.allow_private_addresses", \.apple.allowsPrivateAddresses,
            "Whether Apple's names may resolve to private addresses; a URL on this machine always may."),
        ConfigurationKey(
            "apple.deadline", \.apple.deadline, in: .milliseconds(100) ... .seconds(30),
            "From a question to Apple to its answer, a retry and both endpoints included."),
        ConfigurationKey(
            "apple.soft_timeout", \.apple.softTimeout, in: .milliseconds(10) ... .seconds(30),
            "How long a request that can be answered without Apple waits for it."),
        ConfigurationKey(
            "apple.concurrency", \.apple.concurrency, in: 4...10_000, "Most questions under way to one endpoint."),
        ConfigurationKey(
            "apple.max_requests_per_second", \.apple.maximumRequestsPerSecond, in: 0...100_000,
            "Most questions to one endpoint in a second; 0 is any number."),
        ConfigurationKey(
            "apple.breaker", \.apple.breaker,
            "Who decides whether a failing endpoint is left alone: the circuit breaker (auto) or the operator."),
        ConfigurationKey(
            "apple.deprecation", \.apple.deprecation, "When verifyReceipt is deprecated, if known before Apple says so."
        ),
        ConfigurationKey(
            "apple.sunset", \.apple.sunset, "When verifyReceipt ends, if known before Apple says so."),
        ConfigurationKey(
            "cache.apple.size", \.apple.cacheSize, in: .bytes(0)...(.mebibytes(65_536)),
            "Most memory for what Apple said of receipts; 0 keeps nothing."),
        ConfigurationKey(
            "cache.keys", \.cacheKeys,
            "`id:base64` of 32 random bytes, up to four separated by commas: the first names and seals what is shared."),
        ConfigurationKey(
            "verify_receipt.undecided", \.undecidedReply,
            "What POST /verifyReceipt answers when nothing can be said: status 21005 as Apple does, or HTTP 503."),
    ]

    private static let redis = [
        ConfigurationKey(
            "redis.url", \.redis.url,
            "Where the store is that all nodes share; without it this node runs alone."),
        ConfigurationKey("redis.user", \.redis.user, "Whom to be for Redis, in place of the URL's user."),
        ConfigurationKey("redis.password", \.redis.password, "The password, in place of the URL's."),
        ConfigurationKey(
            "redis.ca_file", \.redis.caFile, "PEM file with the authorities to trust instead of the system's."),
        ConfigurationKey("redis.certificate_file", \.redis.certificateFile, "PEM file with our certificate for Redis."),
        ConfigurationKey("redis.key_file", \.redis.keyFile, "PEM file with the certificate's private key."),
        ConfigurationKey(
            "redis.deadline", \.redis.deadline, in: .milliseconds(1) ... .seconds(5),
            "How long a command to Redis may take."),
        ConfigurationKey(
            "redis.connect_deadline", \.redis.connectDeadline, in: .milliseconds(10) ... .seconds(30),
            "How long an attempt to connect to Redis may take, the login included."),
        ConfigurationKey(
            "redis.expected_nodes", \.redis.expectedNodes, in: 1...1000,
            "How many nodes to share limits with until Redis has told how many there are."),
    ]

    private static let logs = [
        ConfigurationKey("log.level", \.log.level, "Least severe level that is logged."),
        ConfigurationKey(
            "log.requests", \.log.requests,
            "Which requests get a log line: all, none, or sampled: what fails or is slow, and a share of the rest."),
        ConfigurationKey(
            "log.sampling.one_in", \.log.sampling.oneIn, in: 1...1_000_000,
            "Where requests are sampled: one in so many of those that are nothing special gets a line."),
        ConfigurationKey(
            "log.sampling.slow", \.log.sampling.slow, in: .milliseconds(1) ... .seconds(60),
            "Where requests are sampled: from here on a request is slow."),
        ConfigurationKey(
            "log.sampling.notable_per_second", \.log.sampling.notablePerSecond, in: 1...10_000,
            "Where requests are sampled: most lines a second for 5xx, as many for 4xx, and as many for slow requests."),
    ]
}
