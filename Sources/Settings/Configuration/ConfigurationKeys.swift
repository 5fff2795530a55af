// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import Receipts
internal import RedisStore
internal import Resilience
internal import Telemetry

/// All settings, in the order of the documentation. The loader, `check-config` and the test of docs/configuration.md
/// read this list.
package enum ConfigurationKeys {
    package static let all: [ConfigurationKey] =
        http + admin + shutdown + access + verification + signedAnswers + apple + notifications + events + webhooks
        + ownership + jobs + comparison + form + plugins + redis + logs + traces

    private static let ports = 0...65_535
    private static let deadlines: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))
    private static let concurrency =
        ConcurrencyLimit.Policy().minimum...ConcurrencyLimit.Limits.calls.upperBound
    private static let headerSizes: ClosedRange<ByteCount> = .bytes(256)...(.mebibytes(1))

    private static let http: [ConfigurationKey] = [
        .init("http.host", host: \.http.listener.host),
        .init("http.port", \.http.listener.port, in: ports),
        .init("http.host_names", \.http.hostNames),
        .init("http.tls.certificate_file", file: \.http.listener.tls.certificate),
        .init("http.tls.key_file", file: \.http.listener.tls.key),
        .init("http.tls.client_ca_file", file: \.http.listener.tls.clientAuthorities),
        .init("http.proxy_protocol_from", \.http.proxyProtocolAddresses),
        .init("http.limits.target", \.http.limits.target, in: headerSizes),
        .init("http.limits.header_field", \.http.limits.headerField, in: headerSizes),
        .init("http.limits.header_list", \.http.limits.headerList, in: headerSizes),
        .init("http.limits.header_field_count", \.http.limits.headerFieldCount, in: 8...1000),
        .init("http.limits.body", \.http.limits.body, in: .kibibytes(1)...(.mebibytes(64))),
        .init("http.limits.bodies_in_flight", \.http.limits.bodiesInFlight, in: .kibibytes(1)...(.mebibytes(65_536))),
        .init("http.limits.connections", \.http.limits.connections, in: 1...1_000_000),
        .init("http.limits.connections_per_address", \.http.limits.connectionsPerAddress, in: 0...1_000_000),
        .init("http.limits.requests_per_address", \.http.limits.requestsPerAddress, in: 0...1_000_000),
        .init("http.deadlines.handshake", \.http.deadlines.handshake, in: deadlines),
        .init("http.deadlines.headers", \.http.deadlines.headers, in: deadlines),
        .init("http.deadlines.request", \.http.deadlines.request, in: deadlines),
        .init("http.deadlines.answer", \.http.deadlines.answer, in: deadlines),
        .init("http.deadlines.idle", \.http.deadlines.idle, in: deadlines),
        .init("http.trusted_proxies", \.http.remoteAddresses.trustedProxies),
        .init("http.forwarding_header", \.http.remoteAddresses.header),
        .init("http.legacy_rate_limit_headers", \.http.sendsLegacyRateLimitFields),
    ]

    static let admin: [ConfigurationKey] = [
        .init("admin.host", host: \.admin.host),
        .init("admin.port", \.admin.port, in: ports),
        .init("admin.host_names", \.adminHostNames),
        .init("admin.tls.certificate_file", file: \.admin.tls.certificate),
        .init("admin.tls.key_file", file: \.admin.tls.key),
    ]

    private static let shutdown: [ConfigurationKey] = [
        .init("shutdown.drain_delay", \.shutdown.drainDelay, in: .zero ... .seconds(600)),
        .init("shutdown.grace", \.shutdown.grace, in: .zero ... .seconds(600)),
    ]

    private static let access: [ConfigurationKey] = [
        .init("clients_file", file: \.clientsFile),
        pepper,
    ]

    static let pepper = ConfigurationKey("api_key_pepper", \.apiKeyPepper)

    static let verification: [ConfigurationKey] = [
        .init("trust_roots", roots: \.trustRoots),
        .init("trust.transaction_receipts_v2", \.verification.acceptsTransactionReceiptVersion2),
        .init("trust.intermediates", file: \.intermediatesFile),
        .init("verification.clock_skew", \.verification.clockSkew, in: .zero ... .seconds(86_400)),
        .init("verification.expiry_grace", \.verification.expiryGrace, in: .zero ... .seconds(31_536_000)),
        .init("cache.near.size", \.nearCacheSize, in: .bytes(0)...(.mebibytes(65_536))),
        .init("cache.signed_items.size", \.signedItemCacheSize, in: .bytes(0)...(.mebibytes(65_536))),
    ]

    private static let signedAnswers: [ConfigurationKey] = [
        .init("signed_answers.key_files", files: \.signedAnswers.keyFiles),
        .init("signed_answers.lifetime", \.signedAnswers.lifetime, in: .seconds(30) ... .seconds(86_400)),
    ]

    private static let apple: [ConfigurationKey] = [
        .init("apple.enabled", \.apple.isEnabled),
        .init("apple.production_url", \.apple.productionURL),
        .init("apple.sandbox_url", \.apple.sandboxURL),
        .init("apple.shared_secret", \.apple.sharedSecret),
        .init("apple.ca_file", file: \.apple.caFile),
        .init("apple.proxy", \.apple.proxy),
        .init("apple.allow_private_addresses", \.apple.allowsPrivateAddresses),
        .init("apple.deadline", \.apple.timeouts.deadline, in: .milliseconds(100) ... .seconds(30)),
        .init("apple.soft_timeout", \.apple.timeouts.softTimeout, in: .milliseconds(10) ... .seconds(30)),
        .init("apple.concurrency", \.apple.concurrency, in: concurrency),
        .init("apple.max_requests_per_second", \.apple.maximumRequestsPerSecond, in: 0...100_000),
        .init("apple.breaker", \.apple.breaker),
        .init("apple.receipt_upstream", \.apple.receiptUpstream),
        .init("apple.deprecation", \.apple.deprecation),
        .init("apple.sunset", \.apple.sunset),
        .init("apple.server_api.production_url", \.apple.serverAPI.productionURL),
        .init("apple.server_api.sandbox_url", \.apple.serverAPI.sandboxURL),
        .init("apple.server_api.budget_share", \.apple.serverAPI.budget.share, in: ServerAPIBudget.Limits.share),
        .init(
            "apple.server_api.lookup_share", \.apple.serverAPI.budget.lookupShare, in: ServerAPIBudget.Limits.share),
        .init("cache.apple.size", \.apple.cacheSize, in: .bytes(0)...(.mebibytes(65_536))),
        .init("cache.keys", \.cacheKeys),
    ]

    private static let notifications: [ConfigurationKey] = [
        .init("notifications.token", \.notifications.token),
        .init("notifications.backlog", \.notifications.backlog, in: .mebibytes(1)...(.mebibytes(65_536))),
        .init("notifications.replicas", \.notifications.replicas, in: 0...8),
        .init("notifications.allow_volatile", \.notifications.allowsVolatile),
        .init(
            "notifications.recovery_interval", \.notifications.recoveryInterval, in: .seconds(60) ... .seconds(86_400)),
    ]

    private static let events: [ConfigurationKey] = [
        .init("events.max_count", \.events.retention.maximumCount, in: 1000...10_000_000),
        .init("events.max_age", \.events.retention.maximumAge, in: .seconds(3600) ... .seconds(365 * 86_400)),
        .init(
            "events.max_relay_bytes", \.events.retention.maximumRelayBytes.byteCount,
            in: .mebibytes(64)...(.mebibytes(1_048_576))),
        .init("events.keep_signed_data", \.events.rules.keepsSignedData),
        expiryDelay,
    ]

    static let expiryDelay = ConfigurationKey(
        "events.expiry_delay", \.events.rules.expiryDelay, in: .seconds(60) ... .seconds(7 * 86_400))

    private static let webhooks: [ConfigurationKey] = [
        .init("webhooks.allow_private_addresses", \.webhooks.allowsPrivateAddresses),
        .init("webhooks.allow_http", \.webhooks.allowsPlainHTTP),
        .init("webhooks.ca_file", file: \.webhooks.caFile),
        .init("webhooks.proxy", \.webhooks.proxy),
        .init("webhooks.timeout", \.webhooks.timeout, in: .seconds(1) ... .seconds(60)),
        .init("webhooks.concurrency", \.webhooks.concurrency, in: 1...256),
    ]

    private static let ownership: [ConfigurationKey] = [
        .init("ownership.retention", \.ownership.retention, in: .seconds(86_400) ... .seconds(3650 * 86_400)),
        .init("ownership.max_accounts", \.ownership.maximumAccounts, in: 1...OwnershipRules.Limits.accounts - 1),
        .init("ownership.window", \.ownership.window, in: .seconds(3600) ... .seconds(365 * 86_400)),
    ]

    private static let jobs: [ConfigurationKey] = [
        .init("jobs.max_age", \.jobs.maximumAge, in: .seconds(60) ... .seconds(30 * 86_400)),
        .init("jobs.retention", \.jobs.retention, in: .seconds(60) ... .seconds(400 * 86_400)),
        .init("jobs.max_count", \.jobs.maximumCount, in: 1...1_000_000),
        .init("jobs.max_bytes", \.jobs.maximumBytes.byteCount, in: .kibibytes(64)...(.mebibytes(65_536))),
        .init("jobs.max_total_bytes", \.jobs.maximumTotalBytes.byteCount, in: .kibibytes(64)...(.mebibytes(1_048_576))),
    ]

    private static let comparison: [ConfigurationKey] = [
        .init("comparison.mode", \.comparison.mode),
        .init("comparison.share", \.comparison.share, in: ComparisonRules.Limits.share),
        .init(
            "comparison.max_requests_per_second", \.comparison.requestsPerSecond,
            in: ComparisonRules.Limits.requestsPerSecond),
    ]

    private static let form: [ConfigurationKey] = [
        .init("form.body_limit", \.form.bodyLimit, in: .kibibytes(16)...(.mebibytes(64))),
        .init("form.statuses", \.form.statuses),
        .init("form.envelope", \.form.envelope),
        keyForm,
    ]

    private static let plugins: [ConfigurationKey] = [.init("plugins.origins", \.pluginOrigins)]

    static let keyForm = ConfigurationKey("form.encryption_keys", \.form.keyForm)

    private static let redis: [ConfigurationKey] = [
        .init("redis.url", \.redis.url),
        .init("redis.user", \.redis.user),
        .init("redis.password", \.redis.password),
        .init("redis.ca_file", file: \.redis.caFile),
        .init("redis.certificate_file", file: \.redis.certificateFile),
        .init("redis.key_file", file: \.redis.keyFile),
        .init("redis.deadline", \.redis.deadline, in: .milliseconds(1) ... .seconds(30)),
        .init("redis.connect_deadline", \.redis.connectDeadline, in: .milliseconds(10) ... .seconds(30)),
        .init("redis.expected_nodes", \.redis.expectedNodes, in: 1...1000),
    ]

    private static let logs: [ConfigurationKey] = [
        .init("log.level", \.log.values.level),
        .init("log.requests", \.log.values.requests),
        .init("log.sampling.one_in", \.log.sampling.oneIn, in: 1...1_000_000),
        .init("log.sampling.slow", \.log.sampling.slow, in: .milliseconds(1) ... .seconds(60)),
        .init("log.sampling.notable_per_second", \.log.sampling.notablePerSecond, in: 1...10_000),
    ]

    private static let traces: [ConfigurationKey] = [
        .init("traces.endpoint", \.traces.endpoint),
        .init("traces.protocol", \.traces.transferProtocol),
        .init("traces.headers", \.traces.headers),
        .init("traces.timeout", \.traces.timeout, in: .milliseconds(100) ... .seconds(60)),
        .init("traces.ca_file", file: \.traces.caFile),
        .init("traces.sampler", \.traces.sampler),
        .init("traces.ratio", \.traces.ratio, in: 0...1),
        .init("traces.service_name", \.traces.serviceName),
        .init("traces.resource_attributes", \.traces.resourceAttributes),
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
