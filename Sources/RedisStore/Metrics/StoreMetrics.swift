// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import PrometheusExport
internal import Redis
internal import Resilience
internal import Telemetry

/// Counts commands, connections and faults of the shared store.
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

    /// Counts one round trip and the outcome of each of its commands.
    func count(_ results: [Result<RedisValue, RedisError>], took: Duration) {
        roundTrips.record(took / .seconds(1))
        for result in results {
            commands[StoreCommandOutcome(result)]?.increment()
            if case .failure(.refused(let refusal)) = result { refusals[refusal.kind]?.increment() }
        }
    }

    /// Counts commands that were not sent because the circuit breaker is open.
    func countRejected(_ count: Int) { commands[.rejected]?.increment(by: Int64(count)) }

    /// Counts transitions of the circuit breaker.
    func breakerChanged(_ transition: CircuitBreaker.Transition, _ times: Int) {
        transitions[transition]?.increment(by: Int64(times))
    }

    /// Counts an event of a connection.
    func count(_ event: RedisEvent) {
        switch event {
        case .connected(let role):
            connections[role]?.increment(by: 1)
            connects[LabelPair(role, .connected)]?.increment()
        case .connectFailed(let role, let fault):
            connects[LabelPair(role, StoreConnectResult(fault))]?.increment()
        case .disconnected(let role, _):
            connections[role]?.decrement(by: 1)
            disconnects[role]?.increment()
        case .invalidated(let names): invalidations.increment(by: Int64(names.count))
        case .redirected(let kind): refusals[kind]?.increment()
        case .commandDone, .flushed, .published, .mastersChanged, .mastersUnknown: break
        }
    }

    /// Counts an update of the fleet's state that was received, lost or unreadable.
    func count(_ update: FleetUpdateKind, _ result: FleetUpdateResult) {
        fleetUpdates[LabelPair(update, result)]?.increment()
    }

    /// Counts a fault of the shared cache.
    func count(_ fault: SharedCacheFault) { cacheFaults[fault]?.increment() }
}

/// The outcome of a command.
package enum StoreCommandOutcome: String, SeriesLabels {
    case ok, refused, timeout
    case notConnected = "not_connected"
    case connectionLost = "connection_lost"
    case pipelineFull = "pipeline_full"
    case protocolViolation = "protocol_violation"
    case shutDown = "shut_down"
    case rejected

    static let labelNames = ["outcome"]

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

/// The result of an attempt to connect.
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

/// The kind of an update of the fleet's state.
enum FleetUpdateKind: String, SeriesLabels {
    case pause, lifecycle

    static let labelNames = ["update"]
}

/// The result of reading the fleet's state.
enum FleetUpdateResult: String, SeriesLabels {
    case received, lost, unreadable

    static let labelNames = ["result"]
}

extension RedisConnectionRole: SeriesLabels {
    static var labelNames: [String] { ["connection"] }
}

extension RedisRefusal.Kind: SeriesLabels {
    static var labelNames: [String] { ["kind"] }
    var labelValues: [String] { [self == .other ? "other" : rawValue.lowercased()] }
}

extension StoreCondition: SeriesLabels {
    static var labelNames: [String] { ["state"] }
}

extension SharedCacheFault: SeriesLabels {
    static let labelNames = ["fault"]
}

extension StoreHealth {
    /// The state of the store, read at each scrape.
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
