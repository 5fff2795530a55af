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
    package let comparisons: any ComparisonStore
    package let erasure: Erasure
    /// The purge of cached results, also where the store is too slow for requests.
    package let purge: CachePurge
    /// The service that runs the connections; nil without Redis.
    package let service: (any Service)?

    package init(
        ports: FleetPorts, notifications: any NotificationStore, events: any EventLog & EventWriter,
        deliveries: any DeliveryStore, jobs: any JobStore, ownership: any OwnershipStore,
        comparisons: any ComparisonStore, erasure: Erasure, purge: @escaping CachePurge, service: (any Service)?
    ) {
        (self.ports, self.notifications, self.events) = (ports, notifications, events)
        (self.deliveries, self.jobs, self.ownership) = (deliveries, jobs, ownership)
        (self.comparisons, self.erasure, self.purge, self.service) = (comparisons, erasure, purge, service)
    }
}

package struct CustomerStoreRules: Sendable {
    /// The maximum bytes of notifications that are not applied yet.
    let backlogBytes: Int
    /// The replicas of Redis that must have a notification before Apple gets an answer.
    let replicas: Int
    let events: EventsConfiguration
    let jobs: JobRules
    let ownership: OwnershipRules

    package init(
        backlogBytes: Int, replicas: Int, events: EventsConfiguration, jobs: JobRules, ownership: OwnershipRules
    ) {
        (self.backlogBytes, self.replicas, self.events) = (backlogBytes, replicas, events)
        (self.jobs, self.ownership) = (jobs, ownership)
    }
}

extension FleetStore {
    /// - Parameters:
    ///   - cacheBytes: the maximum memory of the results that are also kept in this process.
    ///   - isNode: false for a command that is no gateway, and no node of the fleet.
    ///   - relays: returns true for an app whose notifications are relayed.
    package init(
        _ client: RedisClientConfiguration, keys: StoreKeys, cacheBytes: Int, _ rules: CustomerStoreRules,
        upstreams: UpstreamState, health: StoreHealth, metrics: StoreMetrics, isNode: Bool,
        relays: @escaping @Sendable (_ bundleID: String) -> Bool, clock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        let storeEvents = StoreEvents(health: health, metrics: metrics, logger: logger)
        let redis = client.client(eventLoops: MultiThreadedEventLoopGroup.singleton, observer: storeEvents)
        let store = SharedStore(redis: TracedCommands(redis: redis), health: health, metrics: metrics)
        let observe: @Sendable (SharedCacheFault) -> Void = { metrics.count($0) }
        let results = RedisUpstreamCache(
            store: store, keys: keys, localBytes: cacheBytes, clock: clock, observe: observe)
        storeEvents.register(results)
        let names = StoreNames(keys.first)
        let quotaPauses = RedisQuotaPauses(
            store, names: names, seal: StoreSeal(keys: keys), guards: upstreams.guards, metrics: metrics,
            changed: storeEvents.changedQuotaPauses)
        let fleetState = RedisFleetState(
            store, upstreams: upstreams, metrics: metrics, refreshes: storeEvents.refreshes.continuation,
            quotaPauses: quotaPauses)

        // On connections of their own, so that requests of clients do not wait behind large commands.
        let customers = client.forCustomers.client(
            eventLoops: MultiThreadedEventLoopGroup.singleton, observer: CustomerConnectionEvents())
        let bulk = TracedCommands(redis: customers)
        let retention = rules.events.retention
        let notifications = RedisNotifications(
            bulk, requests: store, keys: keys, maximumBytes: rules.backlogBytes, replicas: rules.replicas,
            rules: rules.events.rules, retention: retention, relays: relays, clock: clock, observe: observe)
        let events = RedisEventLog(bulk, keys: keys, retention: retention, observe: observe)
        let deliveries = RedisDeliveryStore(bulk, keys: keys)
        let jobs = RedisJobStore(bulk, keys: keys, rules: rules.jobs, observe: observe)
        let ownership = RedisOwnershipStore(
            bulk, requests: store, keys: keys, rules: rules.ownership, retention: retention, observe: observe)
        self.init(
            ports: FleetPorts(
                cache: results,
                limiter: FleetRateLimiter(
                    RedisTokenBuckets(redis: store, names: names), liveNodes: { health.liveNodes }),
                leases: RedisFlightLeases(store: store, names: names, waits: storeEvents.leaseWaits),
                fleetState: fleetState, states: notifications),
            notifications: notifications, events: events, deliveries: deliveries, jobs: jobs, ownership: ownership,
            comparisons: RedisComparisons(bulk, keys: keys, observe: observe),
            erasure: Erasure(
                [notifications, events, deliveries, jobs],
                purge: CachedResultPurge { (purges) throws(StoreUnreachable) in
                    try await results.redisPurges.purge(purges, over: bulk)
                },
                results: [RedisResultErasure(customers, keys: keys)],
                indexes: [RedisStateErasure(store: notifications), ownership], states: notifications,
                chains: ownership.chains),
            purge: { (purges) throws(StoreUnreachable) in
                try await results.redisPurges.purge(purges, orOver: bulk)
            },
            service: StoreService(
                clients: [redis, customers], store: store, health: health, events: storeEvents,
                registry: isNode ? NodeRegistry(store: store, health: health) : nil, fleetState: fleetState,
                purges: results.redisPurges,
                waitLimit: client.node.connectDeadline + client.node.commandDeadline))
    }
}

extension RedisClientConfiguration {
    /// The configuration of the connections for what is kept about customers.
    fileprivate var forCustomers: RedisClientConfiguration {
        var configuration = self
        configuration.node.commandDeadline = max(node.commandDeadline, RedisNotifications.Limits.commandDeadline)
        configuration.node.scripts =
            NotificationScripts.all + EventScripts.all + DeliveryScripts.all + JobScripts.all + OwnershipScripts.all
            + ErasureScripts.all + [LeaseScripts.release, RedisComparisons.counting] + RedisPurges.scripts
        configuration.node.limits.maximumReplyBytes = RedisJobStore.Limits.replyBytes
        configuration.node.trackedPrefixes = []
        return configuration
    }
}

extension RedisPurges {
    /// Adds purges over the connections of requests, or over other connections if these do not take them in time.
    func purge(_ purges: [Purge], orOver redis: any RedisCommands) async throws(StoreUnreachable) {
        do throws(StoreUnreachable) {
            try await purge(purges)
        } catch {
            try await purge(purges, over: redis)
        }
    }
}

/// Ignores the events of the connections for customers: the other connections report the same state.
private struct CustomerConnectionEvents: RedisObserver {
    func observe(_ event: RedisEvent) {}
}
