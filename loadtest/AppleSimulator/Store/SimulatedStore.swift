// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// Apple's side of both interfaces without the network: requests, accounts and faults.
final class SimulatedStore: Sendable {
    let stats: StatsCounter
    let limits: SimulatorLimits
    let pki: ForgedPKI
    let verifier: ReceiptVerifier
    private let now: @Sendable () -> Timestamp
    let customers: CustomerRegistry
    let serverAPI: ServerAPI
    let notifications: NotificationRegistry
    let sender: NotificationSender
    private let requests: Mutex<RecentCache<Fingerprint, ReceiptRequest>>
    private let running: Mutex<RunningScenario>

    /// The running scenario, and the number of scenarios so far.
    private struct RunningScenario {
        var state: ScenarioState
        var number = 1
    }

    init(
        pki: ForgedPKI, transactionPKI: TransactionPKI, keys: [AcceptedKey] = [], scenario: Scenario,
        notificationTimeScale: Double = 1, limits: SimulatorLimits, now: @escaping @Sendable () -> Timestamp
    ) throws(SimulatorError) {
        // Apple's own receipts are genuine here too.
        var trustStore = TrustStore.apple
        for root in [pki.root, transactionPKI.root] {
            guard let anchor = try? TrustAnchor(der: root.der, environments: [.production, .sandbox]) else {
                throw .rootUnusable
            }
            trustStore.add(anchor)
        }
        guard (try? trustStore.add(intermediatesPEM: pki.intermediate.pem)) != nil else { throw .rootUnusable }
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = true
        self.pki = pki
        self.limits = limits
        self.now = now
        verifier = ReceiptVerifier(trustStore: trustStore, policy: policy)
        stats = StatsCounter(maximumDistinctReceipts: limits.maximumDistinctReceipts)
        requests = Mutex(RecentCache(maximumBytes: limits.maximumCachedBytes))
        customers = CustomerRegistry(limits: limits)
        notifications = NotificationRegistry(limits: limits, timeScale: notificationTimeScale)
        sender = NotificationSender(registry: notifications, limits: limits, now: now)
        serverAPI = ServerAPI(
            pki: transactionPKI, keys: keys, customers: customers, notifications: notifications, sender: sender,
            limits: limits)
        running = Mutex(RunningScenario(state: ScenarioState(scenario, startingAt: now())))
    }

    /// Replaces the current scenario, from its beginning.
    func play(_ scenario: Scenario) {
        let start = now()
        running.withLock {
            $0 = RunningScenario(state: ScenarioState(scenario, startingAt: start), number: $0.number + 1)
        }
    }

    /// Returns true if the next connection gets an invalid certificate.
    func showsWrongCertificate(at endpoint: Endpoint) -> Bool {
        let now = now()
        return running.withLock { $0.state.showsWrongCertificate(at: endpoint, now) }
    }

    /// Decides the outcome of a call, and counts it.
    func response(to body: [UInt8], isPost: Bool, at endpoint: Endpoint) -> PlannedResponse {
        let (effects, call) = begin(.verifyReceipt, at: endpoint)
        let request = isPost ? request(body, call.now) : nil
        let response = PlannedResponse(effects, of: .verifyReceipt, now: call.serverNow) {
            answer(to: request, effects.fault, call)
        }
        stats.begin(at: endpoint, request?.identity, outcome: response.outcome)
        return response
    }

    /// Decides the outcome of a call of the Server API, and counts it.
    func response(to request: APIRequest, at endpoint: Endpoint) -> PlannedResponse {
        let (effects, call) = begin(.serverAPI, at: endpoint)
        let admission = serverAPI.admit(request, call)
        let response = PlannedResponse(effects, of: .serverAPI, now: call.serverNow) { () -> StoreAnswer in
            switch admission {
            case .refused(_, let answer): return answer
            case .admitted(var admitted):
                admitted.fault = effects.fault
                return serverAPI.answer(to: admitted)
            }
        }
        stats.begin(admission.operation, at: endpoint, outcome: response.outcome)
        return response
    }

    /// Returns the effects of the scenario on the next call, and the call's context.
    private func begin(_ api: AppleAPI, at endpoint: Endpoint) -> (Effects, CallContext) {
        let (now, changes) = (now(), customers.changes)
        return running.withLock { running in
            let effects = running.state.effects(at: endpoint, of: api, now)
            return (effects, CallContext(running.state, number: running.number, changes: changes, endpoint, now))
        }
    }

    /// Returns the context of a request that controls the simulator.
    func controlContext(at endpoint: Endpoint) -> CallContext {
        let (now, changes) = (now(), customers.changes)
        return running.withLock { CallContext($0.state, number: $0.number, changes: changes, endpoint, now) }
    }

    /// The time on the clock of the servers' HTTP.
    var serverNow: Timestamp {
        let now = now()
        return now.advanced(by: .seconds(running.withLock { $0.state.scenario.clockSkewSeconds }))
    }

    /// The counts of both interfaces and of notifications.
    var statsWithServerAPI: Stats {
        var counts = stats.stats
        counts.notifications = sender.stats
        counts.serverApi.quotas = serverAPI.quotas.withLock { $0.counts }
        return counts
    }

    func resetStats() {
        stats.reset()
        serverAPI.quotas.withLock { $0 = HourlyQuotas(maximumQuotas: limits.maximumQuotas) }
        sender.resetStats()
    }

    private func request(_ body: [UInt8], _ now: Timestamp) -> ReceiptRequest {
        let fingerprint = Fingerprint(of: body.span)
        // Its fields and its last answer take a few times the size of its body.
        let byteCount = 4 * body.count + 1024
        if let known = requests.withLock({ $0.value(fingerprint, byteCount: byteCount) }) { return known }
        let request = ReceiptRequest(body, verifier: verifier, now: now)
        requests.withLock { $0.insert(request, fingerprint, byteCount: byteCount) }
        return request
    }
}

extension SimulatedStore {
    /// - Parameter request: nil if the method was not POST.
    private func answer(to request: ReceiptRequest?, _ fault: ServerFault?, _ call: CallContext) -> StoreAnswer {
        guard let request else { return .receiptStatus(21000) }
        let environment = call.endpoint.environment
        let receipt: GenuineReceipt
        // Apple names the environment with 21003 and 21004, not with 21002.
        switch request.subject {
        case .malformed: return .receiptStatus(21002)
        case .notAuthentic: return .receiptStatus(21003) { $0.member("environment", environment.rawValue) }
        case .genuine(let genuine): receipt = genuine
        }
        guard receipt.environment == environment else {
            return .receiptStatus(call.endpoint.statusForOtherEnvironment)
        }
        if let secret = call.scenario.sharedSecret, receipt.hasSubscriptions, request.password != secret {
            return .receiptStatus(21004) { $0.member("environment", environment.rawValue) }
        }
        var answer = request.answer(for: call.edition) { genuineAnswer(to: request, receipt, call) }
        guard !answer.account.isDeleted else { return .receiptStatus(21010) }
        answer.fault = fault
        if case .latestReceipt(let replacement) = fault, answer.latestReceipt != nil {
            answer.latestReceipt = answer.latestReceipt(replacement, signedBy: pki)
        }
        return answer.rendered(requestedAt: call.now)
    }

    private func genuineAnswer(
        to request: ReceiptRequest, _ receipt: GenuineReceipt, _ call: CallContext
    ) -> GenuineAnswer {
        let now = UTCDate(call.now)
        let account = customers.register(receipt, at: call.endpoint, call).account
        let hasLatest = account.recorded?.hasLatestReceipt ?? receipt.hasSubscriptions
        let latest = hasLatest ? IssuedReceipt(account, for: receipt, at: now) : nil
        return GenuineAnswer(
            receipt: receipt, account: account, latestReceipt: latest?.base64(signedBy: pki),
            excludesOldTransactions: request.excludesOldTransactions, seed: call.scenario.seed, issuedAt: now)
    }
}
