// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import PrometheusExport
internal import Redis
internal import Resilience
internal import Telemetry

extension MetricCatalogue {
    static let storeState = MetricFamily(
        "receipt_gateway_store_state", .gauge, "1 for the state of this node's connection to Redis, 0 for the others.",
        by: StoreCondition.self)
    package static let storeCommands = MetricFamily(
        "receipt_gateway_store_commands_total", .counter, "Commands to Redis, by outcome.",
        by: StoreCommandOutcome.self)
    static let storeRefusals = MetricFamily(
        "receipt_gateway_store_refusals_total", .counter, "Error replies of Redis, by their first word.",
        by: RedisRefusal.Kind.self)
    package static let storeRoundTrips = MetricFamily(
        "receipt_gateway_store_round_trip_duration_seconds",
        .histogram(buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1]),
        "The time from sending commands to the last of their replies, or to the timeout.")
    package static let storeConnections = MetricFamily(
        "receipt_gateway_store_connections", .gauge, "Authenticated connections to Redis.", by: RedisConnectionRole.self
    )
    static let storeConnects = MetricFamily(
        "receipt_gateway_store_connects_total", .counter, "Attempts to connect to Redis, including the login.",
        by: LabelPair<RedisConnectionRole, StoreConnectResult>.self)
    static let storeDisconnects = MetricFamily(
        "receipt_gateway_store_disconnects_total", .counter, "Connections to Redis that ended.",
        by: RedisConnectionRole.self)
    static let storeBreakerState = MetricFamily(
        "receipt_gateway_store_circuit_breaker_state", .gauge,
        "1 for the current state of the breaker for Redis, 0 for the others.", by: CircuitBreaker.State.Name.self)
    static let storeBreakerTransitions = MetricFamily(
        "receipt_gateway_store_circuit_breaker_transitions_total", .counter,
        "Changes of the state of the breaker for Redis.", by: CircuitBreaker.Transition.self)
    package static let storeInvalidations = MetricFamily(
        "receipt_gateway_store_invalidations_total", .counter, "Keys that Redis reported as changed.")
    static let liveNodes = MetricFamily(
        "receipt_gateway_fleet_live_nodes", .gauge,
        "Live nodes, including this one.")
    static let fleetUpdates = MetricFamily(
        "receipt_gateway_fleet_state_updates_total", .counter, "Updates about Apple's endpoints that nodes share.",
        by: LabelPair<FleetUpdateKind, FleetUpdateResult>.self)
    package static let sharedCacheFaults = MetricFamily(
        "receipt_gateway_shared_cache_faults_total", .counter,
        "Values in Redis that could not be read, written or used.",
        by: SharedCacheFault.self)
    /// The families of the shared store and of the fleet.
    package static let store = [
        storeState, storeCommands, storeRefusals, storeRoundTrips, storeConnections, storeConnects, storeDisconnects,
        storeBreakerState, storeBreakerTransitions, storeInvalidations, liveNodes, fleetUpdates, sharedCacheFaults,
    ]
}
