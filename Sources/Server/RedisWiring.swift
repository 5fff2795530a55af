// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Gateway
internal import NIOPosix
internal import Redis

/// What this node shares with the others through Redis, or keeps for itself where there is none.
struct FleetStore: Sendable {
    /// Who in the fleet asks Apple.
    let leases: any FlightLeases
    /// What nodes tell one another.
    let notes: any FleetNotes
    /// Runs the connections; nil if there is nothing to connect to.
    let service: StoreService?
}

extension FleetStore {
    /// The store as configured.
    /// - Throws: what is wrong with the files the configuration names.
    init(
        _ configuration: RedisConfiguration, upstreams: UpstreamKnowledge, health: StoreHealth, metrics: StoreMetrics,
        in surroundings: GatewaySurroundings
    ) throws(ConfigurationProblems) {
        guard let client = try RedisNodeConfiguration(configuration) else {
            self.init(leases: EmbeddedFlightLeases(), notes: EmbeddedFleetNotes(), service: nil)
            return
        }
        let events = StoreEvents(health: health, metrics: metrics, logger: surroundings.logger)
        let redis = RedisNode(client, eventLoops: MultiThreadedEventLoopGroup.singleton, observer: events)
        let store = SharedStore(redis, health: health, metrics: metrics)
        let names = StoreNames(key: SymmetricKey(data: Array("x".utf8)))
        let notes = RedisFleetNotes(store, upstreams: upstreams, metrics: metrics, alarm: events.alarm)
        self.init(
            leases: RedisFlightLeases(store: store, names: names, waits: events.leaseWaits), notes: notes,
            service: StoreService(
                client: redis, store: store, health: health, events: events,
                registry: NodeRegistry(store, health: health), notes: notes,
                patience: configuration.connectDeadline + configuration.deadline))
    }
}

extension RedisNodeConfiguration {
    /// The connections as configured; nil if there is nothing to connect to.
    fileprivate init?(_ configuration: RedisConfiguration) throws(ConfigurationProblems) {
        guard let url = configuration.url, let first = url.addresses.first else { return nil }
        switch first {
        case .host(let host, let port): self.init(address: .host(host, port: port))
        case .unixSocket(let path): self.init(address: .unixSocket(path))
        }
        do throws(RedisTLS.Fault) {
            tls =
                url.usesTLS
                ? try RedisTLS(
                    caFile: configuration.caFile, certificateFile: configuration.certificateFile,
                    keyFile: configuration.keyFile) : nil
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error)])
        }
        user = configuration.user ?? url.credentials.user
        password = configuration.password?.secret.exposed ?? url.credentials.password
        database = url.database
        commandDeadline = configuration.deadline
        connectDeadline = configuration.connectDeadline
        scripts = RedisFlightLeases.scripts + RedisFleetNotes.scripts + NodeRegistry.scripts
        trackedPrefixes = [
            RedisFlightLeases.prefix, RedisFleetNotes.pausePrefix, RedisFleetNotes.lifecyclePrefix,
        ]
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
