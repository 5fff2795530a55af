// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import Logging
internal import NIOPosix
package import Notifications
internal import RateLimits
package import Receipts
internal import Redis
internal import Secrets
package import ServiceLifecycle
package import Settings
package import Telemetry

/// The state this node shares with the others through Redis, or keeps alone without Redis.
package struct FleetStore: Sendable {
    package let ports: FleetPorts
    /// The notifications of Apple that are not applied yet, and the customer states that the others left.
    package let notifications: any NotificationStore
    /// The service that runs the connections; nil without Redis.
    package let service: (any Service)?
}

extension FleetStore {
    /// - Parameter isNode: false for a command that is no gateway, and no node of the fleet.
    /// - Throws: the problems of the files the configuration names.
    package init(
        _ configuration: GatewayConfiguration, upstreams: UpstreamState, health: StoreHealth, metrics: StoreMetrics,
        certificates: CertificateInventory, isNode: Bool = true, clock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws(ConfigurationProblems) {
        let cacheBytes = configuration.apple.cacheSize.bytes
        guard let client = try RedisClientConfiguration(configuration.redis), let keys = try configuration.storeKeys
        else {
            let notifications = EmbeddedNotificationStore(
                isPermitted: configuration.notifications.allowsVolatile,
                maximumBytes: configuration.notifications.backlog.bytes, clock: clock)
            let ports = FleetPorts(
                cache: EmbeddedUpstreamCache(maximumBytes: cacheBytes), limiter: EmbeddedRateLimiter(),
                leases: EmbeddedFlightLeases(), fleetState: EmbeddedFleetState(),
                states: configuration.notifications.allowsVolatile ? notifications : nil)
            self.init(ports: ports, notifications: notifications, service: nil)
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
            client, keys: keys, localBytes: cacheBytes, notifications: configuration.notifications,
            upstreams: upstreams, health: health, metrics: metrics, isNode: isNode, clock: clock, logger: logger)
    }

    private init(
        _ client: RedisClientConfiguration, keys: StoreKeys, localBytes: Int,
        notifications configuration: NotificationsConfiguration, upstreams: UpstreamState, health: StoreHealth,
        metrics: StoreMetrics, isNode: Bool, clock: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        let events = StoreEvents(health: health, metrics: metrics, logger: logger)
        let redis = client.client(eventLoops: MultiThreadedEventLoopGroup.singleton, observer: events)
        let store = SharedStore(redis, health: health, metrics: metrics)
        let results = RedisUpstreamCache(
            store: store, keys: keys, localBytes: localBytes, clock: clock,
            observe: { metrics.count($0) })
        events.register(results)
        let names = StoreNames(keys.first)
        let quotaPauses = RedisQuotaPauses(
            store, names: names, seal: StoreSeal(keys: keys), guards: upstreams.guards, metrics: metrics,
            changed: events.changedQuotaPauses)
        let fleetState = RedisFleetState(
            store, upstreams: upstreams, metrics: metrics, refreshSignal: events.refreshSignal,
            quotaPauses: quotaPauses)
        let limiter = FleetRateLimiter(RedisTokenBuckets(redis: store, names: names), liveNodes: { health.liveNodes })
        let leases = RedisFlightLeases(store: store, names: names, waits: events.leaseWaits)
        let bulk = client.forNotifications.client(
            eventLoops: MultiThreadedEventLoopGroup.singleton, observer: NotificationConnectionEvents())
        let notifications = RedisNotifications(
            bulk, requests: store, keys: keys, maximumBytes: configuration.backlog.bytes,
            replicas: configuration.replicas, observe: { metrics.count($0) })
        self.init(
            ports: FleetPorts(
                cache: results, limiter: limiter, leases: leases, fleetState: fleetState, states: notifications),
            notifications: notifications,
            service: StoreService(
                clients: [redis, bulk], store: store, health: health, events: events,
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
        node.scripts = [
            RedisFlightLeases.acquisition, RedisFlightLeases.release, RedisFleetState.pause, RedisFleetState.lifecycle,
            RedisFleetState.quotaPause, NodeRegistry.beat, RedisPurges.append, RedisPurges.tail, RedisPurges.restart,
            RedisTokenBuckets.script,
        ]
        node.trackedPrefixes = [
            SharedCacheNames.resultPrefix, RedisFlightLeases.prefix, RedisFleetState.pausePrefix,
            RedisFleetState.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension RedisClientConfiguration {
    /// The configuration of the connections for notifications, whose commands are large and may take longer.
    fileprivate var forNotifications: RedisClientConfiguration {
        var configuration = self
        configuration.node.commandDeadline = max(node.commandDeadline, RedisNotifications.Limits.commandDeadline)
        configuration.node.scripts = NotificationScripts.all + [RedisFlightLeases.release]
        configuration.node.trackedPrefixes = []
        return configuration
    }
}

/// Ignores the events of the connections for notifications: those of the others say the same.
private struct NotificationConnectionEvents: RedisObserver {
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
