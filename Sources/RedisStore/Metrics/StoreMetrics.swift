// SPDX-License-Identifier: Apache-2.0

internal import Redis
internal import Resilience
package import Telemetry

package final class StoreMetrics: Sendable {
    private let commands: [StoreCommandOutcome: PrometheusCounter]
    private let refusals: [RedisRefusal.Kind: PrometheusCounter]
    private let roundTrips: PrometheusHistogram
    private let connections: [RedisConnectionRole: PrometheusGauge]
    private let connects: [LabelPair<RedisConnectionRole, StoreConnectResult>: PrometheusCounter]
    private let disconnects: [RedisConnectionRole: PrometheusCounter]
    private let transitions: [CircuitBreaker.Transition: PrometheusCounter]
    private let invalidations: PrometheusCounter
    private let fleetUpdates: [LabelPair<FleetUpdateKind, FleetUpdateResult>: PrometheusCounter]
    private let cacheFaults: [SharedCacheFault: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        commands = registry.counters(MetricCatalogue.storeCommands)
        refusals = registry.counters(MetricCatalogue.storeRefusals)
        roundTrips = registry.histogram(MetricCatalogue.storeRoundTrips)
        connections = Dictionary(
            uniqueKeysWithValues: RedisConnectionRole.allCases.map {
                ($0, registry.gauge(MetricCatalogue.storeConnections, $0.labelValues))
            })
        connects = registry.counters(MetricCatalogue.storeConnects)
        disconnects = registry.counters(MetricCatalogue.storeDisconnects)
        transitions = registry.counters(MetricCatalogue.storeBreakerTransitions)
        invalidations = registry.counter(MetricCatalogue.storeInvalidations)
        fleetUpdates = registry.counters(MetricCatalogue.fleetUpdates)
        cacheFaults = registry.counters(MetricCatalogue.sharedCacheFaults)
    }

    func count(_ results: [Result<RedisValue, RedisError>], took: Duration) {
        roundTrips.record(took / .seconds(1))
        for result in results {
            commands[StoreCommandOutcome(result)]?.increment()
            if case .failure(.refused(let refusal)) = result { refusals[refusal.kind]?.increment() }
        }
    }

    /// Counts commands that were not sent because the circuit breaker is open.
    func countRejected(_ count: Int) { commands[.rejected]?.increment(by: Int64(count)) }

    func breakerChanged(_ transition: CircuitBreaker.Transition, _ times: Int) {
        transitions[transition]?.increment(by: Int64(times))
    }

    func count(_ event: RedisEvent) {
        switch event {
        case .connected(let role):
            connections[role]?.increment(by: 1)
            connects[LabelPair(role, .connected)]?.increment()
        case .connectFailed(let role, let fault):
            connects[LabelPair(role, StoreConnectResult(fault))]?.increment()
            if case .refused(let refusal) = fault { refusals[refusal.kind]?.increment() }
        case .disconnected(let role, _):
            connections[role]?.decrement(by: 1)
            disconnects[role]?.increment()
        case .invalidated(let names): invalidations.increment(by: Int64(names.count))
        case .redirected(let kind): refusals[kind]?.increment()
        case .flushed, .published, .mastersChanged, .mastersUnknown: break
        }
    }

    func count(_ update: FleetUpdateKind, _ result: FleetUpdateResult) {
        fleetUpdates[LabelPair(update, result)]?.increment()
    }

    func count(_ fault: SharedCacheFault) { cacheFaults[fault]?.increment() }
}

package enum StoreCommandOutcome: String, SeriesLabels {
    case ok, refused, timeout
    case notConnected = "not_connected"
    case connectionLost = "connection_lost"
    case pipelineFull = "pipeline_full"
    case protocolViolation = "protocol_violation"
    case shutDown = "shut_down"
    case rejected

    package static let labelNames = ["outcome"]

    init(_ result: Result<RedisValue, RedisError>) {
        switch result {
        case .success: self = .ok
        case .failure(.refused): self = .refused
        case .failure(.timeout): self = .timeout
        case .failure(.notConnected): self = .notConnected
        case .failure(.connectionLost): self = .connectionLost
        case .failure(.pipelineFull): self = .pipelineFull
        case .failure(.protocolViolation): self = .protocolViolation
        case .failure(.shutDown): self = .shutDown
        }
    }
}

enum StoreConnectResult: String, SeriesLabels {
    case connected, unreachable, tls, stalled, refused, closed
    case protocolViolation = "protocol_violation"

    static let labelNames = ["result"]

    init(_ fault: RedisConnectionFault) {
        switch fault {
        case .unreachable: self = .unreachable
        case .tls: self = .tls
        case .stalled: self = .stalled
        case .refused: self = .refused
        case .protocolViolation: self = .protocolViolation
        case .closed, .shutDown: self = .closed
        }
    }
}

enum FleetUpdateKind: String, SeriesLabels {
    case pause, lifecycle

    static let labelNames = ["update"]
}

enum FleetUpdateResult: String, SeriesLabels {
    case received, lost, unreadable

    static let labelNames = ["result"]
}

extension RedisConnectionRole: SeriesLabels {
    package static var labelNames: [String] { ["connection"] }
}

extension RedisRefusal.Kind: SeriesLabels {
    package static var labelNames: [String] { ["kind"] }
    package var labelValues: [String] { [self == .other ? "other" : rawValue.lowercased()] }
}

extension StoreCondition: SeriesLabels {
    package static var labelNames: [String] { ["state"] }
}

extension SharedCacheFault: SeriesLabels {
    package static let labelNames = ["fault"]
}

extension StoreHealth {
    package var readings: [MetricReading] {
        let conditions = StoreCondition.allCases.map { condition in
            MetricReading(MetricCatalogue.storeState, condition.labelValues) { self.condition == condition ? 1 : 0 }
        }
        let states = CircuitBreaker.State.Name.allCases.map { state in
            MetricReading(MetricCatalogue.storeBreakerState, state.labelValues) { self.breaker == state ? 1 : 0 }
        }
        return conditions + states + [MetricReading(MetricCatalogue.liveNodes) { Double(self.liveNodes) }]
    }
}

extension MetricCatalogue {
    static let storeState = MetricFamily(
        "receipt_gateway_store_state", .gauge,
        "1 for the state of this node's connection to Redis, 0 for all other states.",
        by: StoreCondition.self)
    package static let storeCommands = MetricFamily(
        "receipt_gateway_store_commands_total", .counter, "Commands to Redis, by outcome.",
        by: StoreCommandOutcome.self)
    static let storeRefusals = MetricFamily(
        "receipt_gateway_store_refusals_total", .counter,
        "Error replies of Redis to commands and logins, by their first word.",
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
        "1 for the current state of the breaker for Redis, 0 for all other states.", by: CircuitBreaker.State.Name.self)
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
    package static let store = [
        storeState, storeCommands, storeRefusals, storeRoundTrips, storeConnections, storeConnects, storeDisconnects,
        storeBreakerState, storeBreakerTransitions, storeInvalidations, liveNodes, fleetUpdates, sharedCacheFaults,
    ]
}
