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
    private let connects: [StoreConnectLabels: PrometheusCounter]
    private let disconnects: [RedisConnectionRole: PrometheusCounter]
    private let transitions: [CircuitBreaker.Transition: PrometheusCounter]
    private let invalidations: PrometheusCounter
    private let fleetState: [FleetUpdateLabels: PrometheusCounter]
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
        fleetState = registry.counters(MetricCatalogue.fleetUpdates)
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
    func breakerMoved(_ transition: CircuitBreaker.Transition, _ times: Int) {
        transitions[transition]?.increment(by: Int64(times))
    }

    /// Counts an event of a connection.
    func count(_ event: RedisEvent) {
        switch event {
        case .connected(let role):
            connections[role]?.increment(by: 1)
            connects[StoreConnectLabels(role: role, result: .connected)]?.increment()
        case .connectFailed(let role, let fault):
            connects[StoreConnectLabels(role: role, result: .init(fault))]?.increment()
        case .disconnected(let role, _):
            connections[role]?.decrement(by: 1)
            disconnects[role]?.increment()
        case .invalidated(let names): invalidations.increment(by: Int64(names.count))
        case .topology(.redirected(let kind)): refusals[kind]?.increment()
        case .commandDone, .flushed, .published, .topology: break
        }
    }

    /// Counts an update of the fleet's state that was received, lost or unreadable.
    func count(_ note: FleetUpdateLabels.Note, _ result: FleetUpdateLabels.Result) {
        fleetState[FleetUpdateLabels(note: note, result: result)]?.increment()
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
    case rejected = "rejected"

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

/// The labels of an attempt to connect.
struct StoreConnectLabels: SeriesLabels {
    enum Result: String, CaseIterable, Sendable {
        case connected, unreachable, tls, stalled, refused, closed
        case protocolViolation = "protocol_violation"

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

    let role: RedisConnectionRole
    let result: Result

    static let labelNames = ["connection", "result"]
    var labelValues: [String] { [role.rawValue, result.rawValue] }

    static let allCases = RedisConnectionRole.allCases.flatMap { role in
        Result.allCases.map { StoreConnectLabels(role: role, result: $0) }
    }
}

/// The labels of an update of the fleet's state.
struct FleetUpdateLabels: SeriesLabels {
    enum Note: String, CaseIterable, Sendable {
        case pause, lifecycle
    }

    enum Result: String, CaseIterable, Sendable {
        case received, lost, unreadable
    }

    let note: Note
    let result: Result

    static let labelNames = ["update", "result"]
    var labelValues: [String] { [note.rawValue, result.rawValue] }

    static let allCases = Note.allCases.flatMap { note in
        Result.allCases.map { FleetUpdateLabels(note: note, result: $0) }
    }
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
