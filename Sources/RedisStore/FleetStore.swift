// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
package import Logging
internal import NIOPosix
package import Receipts
package import Redis
internal import Resilience
package import ServiceLifecycle

/// The state this node shares with the others through Redis; without Redis, the state of this node alone.
package struct FleetStore: Sendable {
    package let ports: FleetPorts
    /// The notifications of Apple that are not applied yet, and the customer states that other nodes left.
    package let notifications: any NotificationStore
    package let events: any EventLog & EventWriter
    package let deliveries: any DeliveryStore
    package let jobs: any JobStore
    package let ownership: any OwnershipStore
    package let erasure: Erasure
    /// The service that runs the connections; nil without Redis.
    package let service: (any Service)?

    package init(
        ports: FleetPorts, notifications: any NotificationStore, events: any EventLog & EventWriter,
        deliveries: any DeliveryStore, jobs: any JobStore, ownership: any OwnershipStore, erasure: Erasure,
        service: (any Service)?
    ) {
        (self.ports, self.notifications, self.events) = (ports, notifications, events)
        (self.deliveries, self.jobs, self.ownership) = (deliveries, jobs, ownership)
        (self.erasure, self.service) = (erasure, service)
    }
}

extension FleetStore {
    /// - Parameters:
    ///   - cacheBytes: the maximum memory of the results that are also kept in this process.
    ///   - isNode: false for a command that is no gateway, and no node of the fleet.
    ///   - relays: returns true for an app whose notifications are relayed.
    package init(
        _ client: RedisClientConfiguration, keys: StoreKeys, cacheBytes: Int, _ rules: CustomerStores.Rules,
        upstreams: UpstreamState, health: StoreHealth,
        metrics: StoreMetrics, isNode: Bool, relays: @escaping @Sendable (_ bundleID: String) -> Bool,
        clock: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        let storeEvents = StoreEvents(health: health, metrics: metrics, logger: logger)
        let redis = client.client(eventLoops: MultiThreadedEventLoopGroup.singleton, observer: storeEvents)
        let store = SharedStore(redis, health: health, metrics: metrics)
        let results = RedisUpstreamCache(
            store: store, keys: keys, localBytes: cacheBytes, clock: clock,
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
            bulk, requests: store, keys: keys, rules, relays: relays, clock: clock,
            observe: { metrics.count($0) })
        let purge = CachedResultPurge { (purges) throws(StoreUnreachable) in
            try await results.redisPurges.purge(purges, over: bulk)
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
                chains: customers.ownership.chains),
            service: StoreService(
                clients: [redis, bulk], store: store, health: health, events: storeEvents,
                registry: isNode ? NodeRegistry(store: store, health: health) : nil, fleetState: fleetState,
                purges: results.redisPurges,
                waitLimit: client.node.connectDeadline + client.node.commandDeadline))
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

/// Ignores the events of the connections for customers: the other connections report the same state.
private struct CustomerConnectionEvents: RedisObserver {
    func observe(_ event: RedisEvent) {}
}
