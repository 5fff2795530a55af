// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Customers
package import Gateway
package import Logging
internal import NIOPosix
internal import Resilience
package import Receipts
internal import Redis
package import ServiceLifecycle
package import Settings
package import Telemetry

/// The state this node shares with the others through Redis, or keeps alone without Redis.
package struct FleetStore: Sendable {
    package let ports: FleetPorts
    /// The notifications of Apple that are not applied yet, and the customer states that the others left.
    package let notifications: any NotificationStore
    package let events: any EventLog & EventWriter
    package let deliveries: any DeliveryStore
    package let jobs: any JobStore
    package let ownership: any OwnershipStore
    package let erasure: Erasure
    /// The service that runs the connections; nil without Redis.
    package let service: (any Service)?
}

extension FleetStore {
    /// - Parameters:
    ///   - isNode: false for a command that is no gateway, and no node of the fleet.
    ///   - relays: returns true for an app whose notifications are relayed.
    /// - Throws: the problems of the files the configuration names.
    package init(
        _ configuration: GatewayConfiguration, upstreams: UpstreamState, health: StoreHealth, metrics: StoreMetrics,
        certificates: CertificateInventory, isNode: Bool = true,
        relays: @escaping @Sendable (_ bundleID: String) -> Bool = { _ in false },
        clock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws(ConfigurationProblems) {
        let cacheBytes = configuration.apple.cacheSize.bytes
        guard let client = try RedisClientConfiguration(configuration.redis), let keys = try configuration.storeKeys
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
                ownership: ownership,
                erasure: Erasure(
                    [events, deliveries, jobs], purge: CachedResultPurge(cache), indexes: [notifications, ownership],
                    states: notifications, chainsOf: ownership),
                service: nil)
            return
        }
        guard AES256GCM.isOffered else {
            let fault = "does not offer AES-256-GCM, which encrypts values in Redis; activate a provider that offers it"
            throw ConfigurationProblems(problems: [ConfigurationProblem(location: "OpenSSL", fault: fault)])
        }
        certificates.configured(
            .redisClient,
            until: client.node.tls?.certificateEnd.map { Timestamp(millisecondsSince1970: Int64($0) * 1000) })
        self.init(
            client, keys: keys, configuration, upstreams: upstreams, health: health, metrics: metrics, isNode: isNode,
            relays: relays, clock: clock,
            logger: logger)
    }

    private init(
        _ client: RedisClientConfiguration, keys: StoreKeys, _ configuration: GatewayConfiguration,
        upstreams: UpstreamState, health: StoreHealth,
        metrics: StoreMetrics, isNode: Bool, relays: @escaping @Sendable (_ bundleID: String) -> Bool,
        clock: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        let storeEvents = StoreEvents(health: health, metrics: metrics, logger: logger)
        let redis = client.client(eventLoops: MultiThreadedEventLoopGroup.singleton, observer: storeEvents)
        let store = SharedStore(redis, health: health, metrics: metrics)
        let results = RedisUpstreamCache(
            store: store, keys: keys, localBytes: configuration.apple.cacheSize.bytes, clock: clock,
            observe: { metrics.count($0) })
        storeEvents.register(results)
        let names = StoreNames(keys.first)
        let quotaPauses = RedisQuotaPauses(
            store, names: names, seal: StoreSeal(keys: keys), guards: upstreams.guards, metrics: metrics,
            changed: storeEvents.changedQuotaPauses)
        let fleetState = RedisFleetState(
            store, upstreams: upstreams, metrics: metrics, refreshSignal: storeEvents.refreshSignal,
            quotaPauses: quotaPauses)
        let limiter = FleetRateLimiter(RedisTokenBuckets(redis: store, names: names), liveNodes: { health.liveNodes })
        let leases = RedisFlightLeases(store: store, names: names, waits: storeEvents.leaseWaits)
        let bulk = client.forCustomers.client(
            eventLoops: MultiThreadedEventLoopGroup.singleton, observer: CustomerConnectionEvents())
        let customers = CustomerStores(
            bulk, requests: store, keys: keys, configuration, relays: relays, clock: clock,
            observe: { metrics.count($0) })
        let purge = CachedResultPurge { (purges) throws(StoreUnreachable) in
            try await results.purges.purge(purges, over: bulk)
        }
        self.init(
            ports: FleetPorts(
                cache: results, limiter: limiter, leases: leases, fleetState: fleetState,
                states: customers.notifications),
            notifications: customers.notifications, events: customers.events, deliveries: customers.deliveries,
            jobs: customers.jobs, ownership: customers.ownership,
            erasure: Erasure(
                customers.erasable, purge: purge,
                results: [RedisResultErasure(bulk, keys: keys)],
                indexes: [customers.states, customers.ownership], states: customers.notifications,
                chainsOf: customers.ownership),
            service: StoreService(
                clients: [redis, bulk], store: store, health: health, events: storeEvents,
                registry: isNode ? NodeRegistry(store: store, health: health) : nil, fleetState: fleetState,
                purges: results.purges,
                waitLimit: client.node.connectDeadline + client.node.commandDeadline))
    }
}

extension RedisClientConfiguration {
    package init?(_ configuration: RedisConfiguration) throws(ConfigurationProblems) {
        guard let url = configuration.url else { return nil }
        do throws(RedisTLS.Fault) {
            let tls =
                try url.usesTLS
                ? RedisTLS(
                    caFile: configuration.caFile, certificateFile: configuration.certificateFile,
                    keyFile: configuration.keyFile) : nil
            try self.init(url, tls: tls)
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        node.credentials.user = configuration.user ?? url.credentials.user
        node.credentials.password = configuration.password?.secret.exposed ?? url.credentials.password
        node.commandDeadline = configuration.deadline
        node.connectDeadline = configuration.connectDeadline
        node.scripts =
            [
                RedisFlightLeases.acquisition, LeaseScripts.release, RedisFleetState.pause, RedisFleetState.lifecycle,
                RedisFleetState.quotaPause, NodeRegistry.beat, RedisTokenBuckets.script,
            ] + RedisPurges.scripts + CustomerStores.requestScripts
        node.trackedPrefixes = [
            SharedCacheNames.resultPrefix, RedisFlightLeases.prefix, RedisFleetState.pausePrefix,
            RedisFleetState.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension RedisClientConfiguration {
    /// The configuration of the connections for what is kept about customers.
    fileprivate var forCustomers: RedisClientConfiguration {
        var configuration = self
        configuration.node.commandDeadline = max(node.commandDeadline, CustomerStores.commandDeadline)
        configuration.node.scripts = CustomerStores.scripts + RedisPurges.scripts
        configuration.node.limits.maximumReplyBytes = CustomerStores.replyBytes
        configuration.node.trackedPrefixes = []
        return configuration
    }
}

/// Ignores the events of the connections for customers: those of the others say the same.
private struct CustomerConnectionEvents: RedisObserver {
    func observe(_ event: RedisEvent) {}
}

extension ConfigurationProblem {
    fileprivate init(_ fault: RedisTLS.Fault) {
        let pem = "is not a PEM file with"
        let (location, text) =
            switch fault {
            case .authorities(let path): (path, "\(pem) readable certificates (gateway.redis.ca_file)")
            case .certificate(let path): (path, "\(pem) readable certificates (gateway.redis.certificate_file)")
            case .privateKey(let path): (path, "\(pem) a readable private key (gateway.redis.key_file)")
            case .unmatched: ("gateway.redis.key_file", "is not the key of gateway.redis.certificate_file")
            }
        self.init(location: location, fault: text)
    }
}

extension Erasure {
    fileprivate init(
        _ stores: [any CustomerDataStore], purge: CachedResultPurge, results: [any CustomerDataStore] = [],
        indexes: [any CustomerDataStore], states: any CustomerStates, chainsOf ownership: any OwnershipStore
    ) {
        self.init(stores, purge: purge, results: results, indexes: indexes, states: states) {
            (account, bundleID) throws(StoreUnreachable) in
            try await ownership.chains(of: account, in: bundleID)
        }
    }
}
