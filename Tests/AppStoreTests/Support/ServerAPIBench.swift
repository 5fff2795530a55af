// SPDX-License-Identifier: Apache-2.0

import AppStore
@testable import Gateway
import HTTPClient
import Logging
import Receipts
import Resilience
import Synchronization

/// A client of the Server API with local servers in Apple's place, and everything it reports.
struct ServerAPIBench: Sendable {
    let client: ServerAPIClient
    let customers: ServerAPICustomerLookup
    let production: LocalServer
    let sandbox: LocalServer
    let events: EventRecorder
    let limiter: RecordingLimiter
    let fleetState: RecordingFleetState
    let logs: LogRecorder
    let guards: UpstreamGuards
    let clock: SetClock

    /// Runs both servers during `use`. By default each closes its connections.
    static func run(
        production: @escaping LocalServer.Script = { _ in nil }, sandbox: @escaping LocalServer.Script = { _ in nil },
        keys: ServerAPIKeys = ServerAPIKeys(account: ServerAPISamples.key),
        currentKeys: (@Sendable () -> ServerAPIKeys)? = nil, budget: ServerAPIBudget = ServerAPIBudget(),
        _ use: (ServerAPIBench) async throws -> Void
    ) async throws {
        var configuration = TransportConfiguration()
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        (configuration.connectTimeout, configuration.totalTimeout) = (.seconds(60), .seconds(60))
        let transport = try HTTPTransport(configuration)
        try await LocalServer.run(production) { production in
            try await LocalServer.run(sandbox) { sandbox in
                try await use(ServerAPIBench(production, sandbox, currentKeys ?? { keys }, budget, transport))
            }
        }
        await transport.shutdown()
    }

    private init(
        _ production: LocalServer, _ sandbox: LocalServer, _ keys: @escaping @Sendable () -> ServerAPIKeys,
        _ budget: ServerAPIBudget, _ transport: HTTPTransport
    ) {
        (self.production, self.sandbox) = (production, sandbox)
        (events, limiter, fleetState, logs) = (
            EventRecorder(), RecordingLimiter(), RecordingFleetState(), LogRecorder()
        )
        guards = UpstreamGuards()
        clock = SetClock(ServerAPISamples.now)
        client = ServerAPIClient(
            keys: keys, hosts: ServerAPIHosts(production: production.url, sandbox: sandbox.url), budget: budget,
            transport: transport, upstreams: UpstreamState(guards: guards, lifecycle: UpstreamLifecycle()),
            limiter: limiter, fleetState: fleetState, verifier: CurrentVerifier(ServerAPISamples.verifier),
            observe: events.observe,
            logger: logs.logger, clock: { [clock] in clock.time })
        customers = ServerAPICustomerLookup(client)
    }

    /// Sends a call to the sandbox unless told otherwise, with a deadline that no test reaches.
    func send(
        _ call: ServerAPICall, in environment: UpstreamEnvironment = .sandbox,
        share: ServerAPIRequest.Share = .full
    ) async -> ServerAPIResult {
        let request = ServerAPIRequest(
            call, bundleID: ServerAPISamples.app, environment: environment, share: share)
        return await client.send(request, deadline: .now + .seconds(3600))
    }

    /// Looks up a customer, with a deadline that no test reaches.
    func lookUp(
        _ id: String = ServerAPISamples.transactionID, in environment: UpstreamEnvironment? = nil,
        hasEvidence: Bool = true, listsUnfinished: Bool = false, ties: PurchaseTies? = nil,
        verifier: ReceiptVerifier = ServerAPISamples.verifier, known: UpstreamAnswer? = nil
    ) async -> UpstreamResult {
        let request = CustomerRequest(
            bundleID: ServerAPISamples.app, transactionID: id, environment: environment, hasEvidence: hasEvidence,
            listsUnfinishedConsumables: listsUnfinished, ties: ties, verifier: verifier, known: known)
        return await customers.purchases(request, deadline: .now + .seconds(3600))
    }
}

/// A clock that stands still until it is set.
final class SetClock: Sendable {
    private let now: Mutex<Timestamp>

    init(_ now: Timestamp) { self.now = Mutex(now) }

    var time: Timestamp { now.withLock(\.self) }
    func advance(by span: Duration) { now.withLock { $0 = $0.advanced(by: span) } }
}

/// Records events as text, without durations and without those that another event implies.
final class EventRecorder: Sendable {
    private let events = Mutex<[String]>([])

    func observe(_ event: UpstreamEvent) {
        let line: String? =
            switch event {
            case .called(let operation, let environment, let outcome):
                "\(operation.rawValue) \(environment.rawValue) \(outcome.rawValue)"
            case .rejected(let endpoint, let reason): "rejected \(endpoint.environment.rawValue) \(reason.rawValue)"
            case .retried(let endpoint): "retried \(endpoint.environment.rawValue)"
            case .contradicted(let endpoint, let contradiction):
                "contradicted \(endpoint.environment.rawValue) \(contradiction.rawValue)"
            case .breakerChanged: "breaker"
            default: nil
            }
        if let line { events.withLock { $0.append(line) } }
    }

    var lines: [String] { events.withLock(\.self) }
}

/// Limits as one node does, and records the charges.
final class RecordingLimiter: RateLimiter {
    private let limiter = EmbeddedRateLimiter()
    private let recorded = Mutex<[[RateCharge]]>([])

    func admit(_ charges: [RateCharge]) async -> RateAdmission {
        recorded.withLock { $0.append(charges) }
        return limiter.admit(charges)
    }

    func admitAtOnce(_ charges: [RateCharge]) -> RateAdmission? { limiter.admitAtOnce(charges) }
    func knownRefusal(of charges: [RateCharge]) -> RateAdmission? { limiter.knownRefusal(of: charges) }

    var charges: [[RateCharge]] { recorded.withLock(\.self) }
}

final class RecordingFleetState: FleetState {
    private let recorded = Mutex<[String]>([])

    func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint) {
        recorded.withLock { $0.append("\(endpoint.storedName) \(update)") }
    }

    func publish(pause: Duration, of quota: ServerAPIQuota) {
        recorded.withLock { $0.append("\(quota.environment) \(quota.operation.rawValue) \(pause)") }
    }

    var lines: [String] { recorded.withLock(\.self) }
}

/// Records log lines: level, message and sorted metadata.
final class LogRecorder: Sendable {
    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            recorder.recorded.withLock { $0.append("\(event.level) \(event.message)\(fields.joined())") }
        }
    }

    private let recorded = Mutex<[String]>([])

    var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }
    var lines: [String] { recorded.withLock(\.self) }
}
