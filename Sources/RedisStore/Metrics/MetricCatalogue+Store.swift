// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import PrometheusExport
internal import Redis
internal import Resilience
internal import Telemetry

extension MetricCatalogue {
    static let storeState = MetricFamily(
        "receipt_gateway_store_state", .gauge, "1 for how this node stands with the shared store, 0 for the others.",
        by: StoreCondition.self)
    package static let storeCommands = MetricFamily(
        "receipt_gateway_store_commands_total", .counter, "Commands to Redis, by what came of them.",
        by: StoreCommandOutcome.self)
    static let storeRefusals = MetricFamily(
        "receipt_gateway_store_refusals_total", .counter, "Errors that Redis answered with.",
        by: RedisRefusal.Kind.self)
    package static let storeRoundTrips = MetricFamily(
        "receipt_gateway_store_round_trip_duration_seconds",
        .histogram(buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1]),
        "From sending commands to Redis to the last of their replies, or to giving up.")
    package static let storeConnections = MetricFamily(
        "receipt_gateway_store_connections", .gauge, "Connections to Redis.", by: RedisConnectionRole.self)
    static let storeConnects = MetricFamily(
        "receipt_gateway_store_connects_total", .counter, "Attempts to connect to Redis, by what came of them.",
        by: StoreConnectLabels.self)
    static let storeDisconnects = MetricFamily(
        "receipt_gateway_store_disconnects_total", .counter, "Connections to Redis that ended.",
        by: RedisConnectionRole.self)
    static let storeBreakerState = MetricFamily(
        "receipt_gateway_store_circuit_breaker_state", .gauge,
        "1 for the state the breaker in front of Redis is in, 0 for the others.", by: CircuitBreaker.State.Name.self)
    static let storeBreakerTransitions = MetricFamily(
        "receipt_gateway_store_circuit_breaker_transitions_total", .counter,
        "Changes of the state of the breaker in front of Redis.", by: StoreBreakerLabels.self)
    package static let storeInvalidations = MetricFamily(
        "receipt_gateway_store_invalidations_total", .counter, "Keys that Redis said have changed.")
    static let liveNodes = MetricFamily(
        "receipt_gateway_fleet_live_nodes", .gauge,
        "Nodes that share the store and are alive, as far as this one knows.")
    static let fleetUpdates = MetricFamily(
        "receipt_gateway_fleet_state_updates_total", .counter, "What nodes tell one another of Apple's endpoints.",
        by: FleetUpdateLabels.self)
    package static let sharedCacheFaults = MetricFamily(
        "receipt_gateway_shared_cache_faults_total", .counter,
        "What was to be found or kept in the store that all nodes share, and could not be used.",
        by: SharedCacheFault.self)
    /// The families of the shared store and of the fleet.
    package static let store = [
        storeState, storeCommands, storeRefusals, storeRoundTrips, storeConnections, storeConnects, storeDisconnects,
        storeBreakerState, storeBreakerTransitions, storeInvalidations, liveNodes, fleetUpdates, sharedCacheFaults,
    ]
}
