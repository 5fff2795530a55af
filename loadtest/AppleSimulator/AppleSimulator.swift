// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts
package import ReceiptForge
package import Receipts
internal import Synchronization

/// Servers that behave like Apple's verifyReceipt and App Store Server API, faults included, on the loopback interface.
///
/// ```swift
/// let pki = ForgedPKI(seed: 1)
/// let apple = try await AppleSimulator.start(.init(pki: pki))
/// try apple.play(Scenario(yaml: "faults: [{fault: {http_status: 503}, requests: 3}]"))
/// // ... send apple.productionURL receipts that pki signed ...
/// await apple.stop()
/// ```
package final class AppleSimulator: Sendable {
    package struct Configuration: Sendable {
        /// Signs genuine receipts, in addition to Apple's own, and the latest receipts in answers.
        package var pki: ForgedPKI
        /// Signs transactions, renewal infos and app transactions.
        package var transactionPKI: TransactionPKI
        /// The keys whose tokens the Server API accepts.
        package var serverAPIKeys: [AcceptedKey]
        package var scenario = Scenario.healthy
        /// The ports; 0 for any free port.
        package var productionPort = 0, sandboxPort = 0
        /// True if the App Store Server API has ports of its own, so that it answers while verifyReceipt refuses
        /// connections.
        package var hasServerAPIPorts = false
        /// The servers' certificate for `localhost` and `127.0.0.1`; nil for HTTP without TLS.
        package var tls: TLSIdentity?
        /// The factor of Apple's waits before a notification is sent again, unless its URL has another factor.
        package var notificationTimeScale = 1.0
        /// The clock for the dates in answers and the phases of scenarios; latencies take real time.
        package var now: @Sendable () -> Timestamp = Timestamp.now

        /// Creates a configuration whose other keys follow from the seed of `pki`.
        package init(pki: ForgedPKI) {
            self.pki = pki
            transactionPKI = TransactionPKI(seed: pki.seed)
            serverAPIKeys = [AcceptedKey(ForgedAPIKey(seed: pki.seed))]
        }
    }

    /// The URLs of verifyReceipt.
    package let productionURL: String
    package let sandboxURL: String
    /// The URLs below which the App Store Server API has its paths.
    package let productionBaseURL: String
    package let sandboxBaseURL: String
    private let store: SimulatedStore
    private let tls: TLSContexts?
    /// Also reserved while connections to verifyReceipt are refused.
    private let ports: (production: ReservedPort, sandbox: ReservedPort)
    /// Nil while connections to verifyReceipt are refused.
    private let verifyReceipt: Mutex<ListenerPair?>
    private let serverAPI: ListenerPair?

    private init(
        _ store: SimulatedStore, _ ports: (production: ReservedPort, sandbox: ReservedPort),
        _ verifyReceipt: ListenerPair, serverAPI: ListenerPair?, _ tls: TLSContexts?
    ) {
        productionURL = verifyReceipt.productionURL + "/verifyReceipt"
        sandboxURL = verifyReceipt.sandboxURL + "/verifyReceipt"
        productionBaseURL = (serverAPI ?? verifyReceipt).productionURL
        sandboxBaseURL = (serverAPI ?? verifyReceipt).sandboxURL
        self.ports = ports
        self.store = store
        self.tls = tls
        self.verifyReceipt = Mutex(verifyReceipt)
        self.serverAPI = serverAPI
    }

    /// Starts both servers; they listen when this returns.
    package static func start(_ configuration: Configuration) async throws(SimulatorError) -> AppleSimulator {
        let limits = SimulatorLimits()
        let store = try SimulatedStore(
            pki: configuration.pki, transactionPKI: configuration.transactionPKI, keys: configuration.serverAPIKeys,
            scenario: configuration.scenario, notificationTimeScale: configuration.notificationTimeScale,
            limits: limits, now: configuration.now)
        let tls = try configuration.tls.map(TLSContexts.init)
        let ports = try (
            LoopbackServer.reserve(configuration.productionPort), LoopbackServer.reserve(configuration.sandboxPort)
        )
        let pair = try await ListenerPair.start(store, at: ports, tls)
        guard configuration.hasServerAPIPorts else { return AppleSimulator(store, ports, pair, serverAPI: nil, tls) }
        do throws(SimulatorError) {
            let serverAPI = try await ListenerPair.start(
                store, at: (LoopbackServer.reserve(), LoopbackServer.reserve()), tls)
            return AppleSimulator(store, ports, pair, serverAPI: serverAPI, tls)
        } catch {
            await pair.stop()
            throw error
        }
    }

    /// Refuses connections to verifyReceipt, and closes open connections.
    package func refuseVerifyReceipt() async {
        let pair = verifyReceipt.withLock { pair in
            defer { pair = nil }
            return pair
        }
        await pair?.stop()
    }

    /// Accepts connections to verifyReceipt again, at the same ports.
    package func acceptVerifyReceipt() async throws(SimulatorError) {
        await refuseVerifyReceipt()
        let pair = try await ListenerPair.start(store, at: ports, tls)
        verifyReceipt.withLock { $0 = pair }
    }

    package var stats: Stats { store.statsWithServerAPI }

    package var statsDetails: StatsDetails { store.stats.details }

    /// Replaces the current scenario, from its beginning.
    package func play(_ scenario: Scenario) {
        store.play(scenario)
    }

    /// Adds customers whose purchases follow from their numbers (see `transactionID(ofCustomer:first:)`).
    ///
    /// - Parameter first: the first transaction ID; nil for 2000001000000000.
    package func addCustomers(
        _ count: Int, ofApp bundleID: String, at endpoint: Endpoint, first: Int64? = nil
    ) throws(ControlError) {
        let app = AppInStore(bundleID: bundleID, endpoint: endpoint)
        let now = UTCDate(store.controlContext(at: endpoint).now)
        try store.customers.add(
            Population(app: app, count: Int64(count), firstTransactionID: first, at: now, limits: store.limits))
    }

    /// Adds accounts that are exactly as recorded answers of verifyReceipt have them.
    ///
    /// - Parameter answers: whole answers as JSON, with status 0 or 21006.
    /// - Returns: a receipt for each in base64, which verifyReceipt answers with the members of the recorded answer. It is
    ///   issued by the configuration's `pki`.
    package func addAccounts(recordedAnswers answers: [[UInt8]]) throws(ControlError) -> [String] {
        let evidence = try AccountEvidence(recordedAnswers: answers, limits: store.limits)
        return try evidence.register(in: store, store.controlContext(at: .production)).receipts
    }

    /// Returns the original transaction ID of a customer of a population, counted from 0.
    package static func transactionID(ofCustomer number: Int, first: Int64? = nil) -> String {
        String((first ?? Population.defaultFirstTransactionID) + Int64(number) * Population.stride)
    }

    /// Sets where an app's notifications are sent, and in which form.
    ///
    /// - Parameters:
    ///   - url: HTTP on this machine; nil for no notifications.
    ///   - timeScale: the factor of Apple's waits before a notification is sent again; nil for the configuration's.
    package func setNotificationURL(
        _ url: String?, ofApp bundleID: String, at endpoint: Endpoint, version: NotificationVersion = .two,
        timeScale: Double? = nil
    ) throws(ControlError) {
        let app = AppInStore(bundleID: bundleID, endpoint: endpoint)
        let destination = try url.map { url throws(ControlError) in
            try NotificationDestination(url, version, timeScale: timeScale)
        }
        try store.notifications.setDestination(destination, of: app)
    }

    /// Changes customers, and sends the notifications about that.
    ///
    /// - Returns: the UUIDs of the notifications; none for version 1.
    @discardableResult
    package func notify(_ request: NotificationRequest) throws(ControlError) -> [String] {
        try store.notify(request)
    }

    /// Waits until no notification is in flight, delayed or to be sent again.
    package func waitForNotifications() async {
        await store.sender.waitUntilIdle()
    }

    /// Closes all connections, answered or not, and both servers. No notification is sent any more.
    package func stop() async {
        store.sender.stop()
        await refuseVerifyReceipt()
        await serverAPI?.stop()
    }
}

/// The reason why a simulator does not start.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case portUnavailable(Int, reason: String)
    case identityUnusable
    case rootUnusable

    package var description: String {
        switch self {
        case .portUnavailable(let port, let reason): "Cannot listen on port \(port) of 127.0.0.1: \(reason)"
        case .identityUnusable: "The server's certificate and private key are not a matching pair in PEM."
        case .rootUnusable: "The root of the PKI is not a usable certificate."
        }
    }
}
