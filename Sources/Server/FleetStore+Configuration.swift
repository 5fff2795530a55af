// SPDX-License-Identifier: Apache-2.0

internal import API
internal import Clients
internal import Cryptography
internal import Customers
internal import Gateway
internal import Logging
internal import Receipts
internal import Redis
internal import RedisStore
internal import Resilience
internal import Settings
internal import Telemetry

extension FleetStore {
    /// - Parameters:
    ///   - isNode: false for a command that is no gateway, and no node of the fleet.
    ///   - relays: returns true for an app whose notifications are relayed.
    /// - Throws: the problems of the files the configuration names.
    init(
        _ configuration: GatewayConfiguration, upstreams: UpstreamState, health: StoreHealth, metrics: StoreMetrics,
        certificates: CertificateInventory, isNode: Bool = true,
        relays: @escaping @Sendable (_ bundleID: String) -> Bool = { _ in false },
        clock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws(ConfigurationProblems) {
        let cacheBytes = configuration.apple.cacheSize.bytes
        guard let client = try RedisClientConfiguration(configuration.redis), let keys = configuration.cacheKeys
        else {
            let events = EmbeddedEventLog(configuration.events.retention, clock: clock)
            let notifications = EmbeddedNotificationStore(
                isPermitted: configuration.notifications.allowsVolatile,
                maximumBytes: configuration.notifications.backlog.bytes, log: events, rules: configuration.events.rules,
                relays: relays, clock: clock)
            let cache = EmbeddedUpstreamCache(maximumBytes: cacheBytes)
            let deliveries = EmbeddedDeliveryStore(log: events, clock: clock)
            let ports = FleetPorts(
                cache: cache, limiter: EmbeddedRateLimiter(),
                leases: EmbeddedFlightLeases(), fleetState: EmbeddedFleetState(),
                states: configuration.notifications.allowsVolatile ? notifications : nil)
            let jobs = EmbeddedJobStore(configuration.jobs, clock: clock)
            let ownership = EmbeddedOwnershipStore(configuration.ownership, log: events, clock: clock)
            self.init(
                ports: ports, notifications: notifications, events: events, deliveries: deliveries, jobs: jobs,
                ownership: ownership, comparisons: EmbeddedComparisonStore(),
                erasure: Erasure(
                    [events, deliveries, jobs], purge: CachedResultPurge(cache.purges.purge),
                    indexes: [notifications, ownership],
                    states: notifications, chains: ownership.chains),
                purge: cache.purges.purge, service: nil)
            return
        }
        guard AES256GCM.isOffered else {
            throw ConfigurationProblems(
                "OpenSSL",
                "does not offer AES-256-GCM, which encrypts values in Redis; activate a provider that offers it")
        }
        certificates.configured(
            .redisClient,
            until: client.node.tls?.certificateEnd.map { Timestamp(millisecondsSince1970: Int64($0) * 1000) })
        self.init(
            client, keys: keys, cacheBytes: cacheBytes, CustomerStoreRules(configuration), upstreams: upstreams,
            health: health, metrics: metrics, isNode: isNode, relays: relays, clock: clock, logger: logger)
    }
}

extension CustomerStoreRules {
    fileprivate init(_ configuration: GatewayConfiguration) {
        self.init(
            backlogBytes: configuration.notifications.backlog.bytes, replicas: configuration.notifications.replicas,
            events: configuration.events, jobs: configuration.jobs, ownership: configuration.ownership)
    }
}

extension StoreStatus {
    init(_ health: StoreHealth) {
        self.init(
            state: health.condition.rawValue, refusal: health.configurationFault?.configurationWord,
            liveNodes: health.liveNodes)
    }
}
