// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import ReceiptForge
public import Receipts

/// Servers that behave like Apple's verifyReceipt, faults included, on the loopback interface.
///
/// ```swift
/// let pki = ForgedPKI(seed: 1)
/// let apple = try await AppleSimulator.start(.init(pki: pki))
/// try apple.play(Scenario(yaml: "faults: [{fault: {http_status: 503}, requests: 3}]"))
/// // ... ask apple.productionURL about receipts that pki signed ...
/// await apple.stop()
/// ```
public final class AppleSimulator: Sendable {
    /// What a simulator is started with.
    public struct Configuration: Sendable {
        /// Signs the receipts that are genuine; Apple's own are too. Signs the latest receipts that are given out.
        public var pki: ForgedPKI
        /// What happens.
        public var scenario = Scenario.healthy
        /// 0 for any free one.
        public var productionPort = 0
        /// 0 for any free one.
        public var sandboxPort = 0
        /// What the servers show of themselves, for `localhost` and `127.0.0.1`; nil for HTTP without TLS.
        public var tls: TLSIdentity?
        /// The time, for the dates in answers and for the phases of scenarios; latencies take real time.
        public var now: @Sendable () -> Timestamp = SystemClock.now

        /// A simulator on two free ports, without TLS and without faults.
        public init(pki: ForgedPKI) {
            self.pki = pki
        }
    }

    /// Where receipts of the environment Production are asked about.
    public let productionURL: String
    /// Where receipts of the environment Sandbox are asked about.
    public let sandboxURL: String
    private let store: SimulatedStore
    private let listeners: [Listener]
    private let connections: Connections

    private init(_ store: SimulatedStore, _ connections: Connections, _ production: Listener, _ sandbox: Listener) {
        productionURL = production.url
        sandboxURL = sandbox.url
        self.store = store
        self.connections = connections
        listeners = [production, sandbox]
    }

    /// Starts both servers; they listen when this returns.
    public static func start(_ configuration: Configuration) async throws(SimulatorError) -> AppleSimulator {
        let limits = SimulatorLimits()
        let store = try SimulatedStore(
            pki: configuration.pki, scenario: configuration.scenario, limits: limits, now: configuration.now)
        let tls = try configuration.tls.map(TLSContexts.init)
        let connections = Connections(maximumConnections: limits.maximumConnections)
        let production = try await Listener.start(
            RequestResponder(store: store, endpoint: .production), port: configuration.productionPort, tls, connections)
        do throws(SimulatorError) {
            let sandbox = try await Listener.start(
                RequestResponder(store: store, endpoint: .sandbox), port: configuration.sandboxPort, tls, connections)
            return AppleSimulator(store, connections, production, sandbox)
        } catch {
            await production.stop()
            throw error
        }
    }

    /// How often the servers were asked.
    public var stats: Stats { store.stats.stats }

    /// What became of it.
    public var statsDetails: StatsDetails { store.stats.details }

    /// Counts from zero again.
    public func resetStats() {
        store.stats.reset()
    }

    /// Puts another scenario in the place of the one being played, from its beginning.
    public func play(_ scenario: Scenario) {
        store.play(scenario)
    }

    /// Ends all connections, answered or not, and both servers.
    public func stop() async {
        for listener in listeners { await listener.stop() }
        await connections.closeAll()
    }
}
