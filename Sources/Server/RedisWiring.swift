// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import NIOPosix
internal import Receipts
internal import Redis

/// What this node shares with the others through Redis, or keeps for itself where there is none.
struct FleetStore: Sendable {
    /// The ports.
    let ports: FleetPorts
    /// Runs the connections; nil if there is nothing to connect to.
    let service: StoreService?
}

extension FleetStore {
    /// The store as configured.
    /// - Throws: what is wrong with the files the configuration names.
    init(
        _ configuration: GatewayConfiguration, upstreams: UpstreamKnowledge, health: StoreHealth,
        metrics: GatewayMetrics, in surroundings: GatewaySurroundings
    ) throws(ConfigurationProblems) {
        let cacheBytes = configuration.apple.cacheSize.bytes
        guard let client = try RedisClientConfiguration(configuration.redis), let keys = try StoreKeys(configuration)
        else {
            let ports = FleetPorts(
                cache: EmbeddedFindingCache(maximumBytes: cacheBytes), limiter: EmbeddedRateLimiter(),
                leases: EmbeddedFlightLeases(), notes: EmbeddedFleetNotes())
            self.init(ports: ports, service: nil)
            return
        }
        metrics.certificates.configured(
            .redisClient, until: client.tls?.certificateEnd.map { Timestamp(millisecondsSince1970: Int64($0) * 1000) })
        self.init(
            client, keys: keys, spareBytes: cacheBytes, patience: configuration.redis.patience, upstreams: upstreams,
            health: health, metrics: metrics, in: surroundings)
    }

    private init(
        _ client: RedisClientConfiguration, keys: StoreKeys, spareBytes: Int, patience: Duration,
        upstreams: UpstreamKnowledge, health: StoreHealth, metrics: GatewayMetrics,
        in surroundings: GatewaySurroundings
    ) {
        let upstreamMetrics = metrics.upstream, metrics = metrics.store
        let events = StoreEvents(health: health, metrics: metrics, logger: surroundings.logger)
        let redis = RedisClient(client, eventLoops: MultiThreadedEventLoopGroup.singleton, observer: events)
        let store = SharedStore(redis, health: health, metrics: metrics)
        let findings = RedisFindingCache(
            store: store, keys: keys, spareBytes: spareBytes, clock: surroundings.clock,
            observe: { upstreamMetrics.observe($0) })
        events.tell(findings)
        let notes = RedisFleetNotes(store, upstreams: upstreams, metrics: metrics, alarm: events.alarm)
        let limiter = FleetRateLimiter(
            RedisTokenBuckets(store, names: keys.first.names), liveNodes: { health.liveNodes })
        let leases = RedisFlightLeases(store: store, names: keys.first.names, waits: events.leaseWaits)
        self.init(
            ports: FleetPorts(cache: findings, limiter: limiter, leases: leases, notes: notes),
            service: StoreService(
                client: redis, store: store, health: health, events: events,
                registry: NodeRegistry(store, health: health), notes: notes, purges: findings.purges,
                patience: patience))
    }
}

extension RedisConfiguration {
    /// How long the first connection is waited for.
    fileprivate var patience: Duration { connectDeadline + deadline }
}

extension StoreKeys {
    /// The keys as configured; nil if there are none.
    fileprivate init?(_ configuration: GatewayConfiguration) throws(ConfigurationProblems) {
        guard let text = configuration.cacheKeys?.exposed else { return nil }
        do throws(StoreKeysFault) {
            try self.init(text)
        } catch {
            throw ConfigurationProblems(
                problems: [ConfigurationProblem(place: "gateway.cache.keys", fault: error.description)])
        }
    }
}

extension RedisClientConfiguration {
    /// The connections as configured; nil if there is nothing to connect to.
    init?(_ configuration: RedisConfiguration) throws(ConfigurationProblems) {
        guard let url = configuration.url else { return nil }
        do throws(RedisTLS.Fault) {
            try self.init(url, tls: url.usesTLS ? RedisTLS(configuration) : nil)
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        credentials = RedisURL.Credentials(
            user: configuration.user ?? url.credentials.user,
            password: configuration.password?.secret.exposed ?? url.credentials.password)
        commandDeadline = configuration.deadline
        connectDeadline = configuration.connectDeadline
        scripts =
            RedisFlightLeases.scripts + RedisFleetNotes.scripts + NodeRegistry.scripts + RedisPurges.scripts
            + [RedisTokenBuckets.script]
        trackedPrefixes = [
            FindingNames.findingPrefix, RedisFlightLeases.prefix, RedisFleetNotes.pausePrefix,
            RedisFleetNotes.lifecyclePrefix, RedisPurges.headKey,
        ]
    }
}

extension RedisTLS {
    fileprivate init(_ configuration: RedisConfiguration) throws(Fault) {
        try self.init(
            caFile: configuration.caFile, certificateFile: configuration.certificateFile,
            keyFile: configuration.keyFile)
    }
}

extension ConfigurationProblem {
    /// A file for TLS that is not what it should be.
    fileprivate init(_ fault: RedisTLS.Fault) {
        switch fault {
        case .authorities(let path):
            self.init(place: path, fault: "is no PEM file with certificates that can be read (gateway.redis.ca_file)")
        case .certificate(let path):
            self.init(
                place: path, fault: "is no PEM file with certificates that can be read (gateway.redis.certificate_file)"
            )
        case .privateKey(let path):
            self.init(
                place: path, fault: "is no PEM file with a private key that can be read (gateway.redis.key_file)")
        case .unmatched:
            self.init(
                place: "gateway.redis.key_file", fault: "is not the key of gateway.redis.certificate_file")
        }
    }
}
