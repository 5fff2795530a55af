// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// Apple's side of verifyReceipt without the network: requests, accounts and faults.
final class SimulatedStore: Sendable {
    let stats: StatsCounter
    let limits: SimulatorLimits
    private let pki: ForgedPKI
    private let verifier: ReceiptVerifier
    private let now: @Sendable () -> Timestamp
    private let requests: Mutex<RequestCache>
    private let running: Mutex<RunningScenario>

    /// The running scenario, and the number of scenarios so far.
    private struct RunningScenario {
        var state: ScenarioState
        var number = 1
    }

    init(
        pki: ForgedPKI, scenario: Scenario, limits: SimulatorLimits, now: @escaping @Sendable () -> Timestamp
    ) throws(SimulatorError) {
        // Apple's own receipts are genuine here too.
        var trustStore = TrustStore.apple
        guard let root = try? TrustAnchor(der: pki.root.der, environments: [.production, .sandbox]) else {
            throw .rootUnusable
        }
        trustStore.add(root)
        guard (try? trustStore.add(intermediatesPEM: pki.intermediate.pem)) != nil else { throw .rootUnusable }
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = true
        self.pki = pki
        self.limits = limits
        self.now = now
        verifier = ReceiptVerifier(trustStore: trustStore, policy: policy)
        stats = StatsCounter(maximumDistinctReceipts: limits.maximumDistinctReceipts)
        requests = Mutex(RequestCache(maximumBytes: limits.maximumCachedBytes))
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
        let now = now()
        let (effects, call) = running.withLock { running in
            (
                running.state.effects(at: endpoint, now),
                CallContext(running.state, number: running.number, endpoint, now)
            )
        }
        let request = isPost ? request(body, now) : nil
        let answer = { self.answer(to: request, effects.fault, call) }
        let response = PlannedResponse(effects, now: now, answer: answer)
        stats.begin(at: endpoint, request?.identity, outcome: response.outcome)
        return response
    }

    private func request(_ body: [UInt8], _ now: Timestamp) -> ReceiptRequest {
        let fingerprint = Fingerprint(of: body.span)
        if let known = requests.withLock({ $0.request(fingerprint, byteCount: body.count) }) { return known }
        let request = ReceiptRequest(body, verifier: verifier, now: now)
        requests.withLock { $0.insert(request, fingerprint, byteCount: body.count) }
        return request
    }
}

private struct CallContext {
    let scenario: Scenario
    let start: UTCDate
    let endpoint: Endpoint
    let now: Timestamp
    let edition: Edition

    init(_ state: ScenarioState, number: Int, _ endpoint: Endpoint, _ now: Timestamp) {
        scenario = state.scenario
        start = UTCDate(state.start)
        self.endpoint = endpoint
        self.now = now
        edition = Edition(scenario: number, issue: UTCDate(now).secondsSince1970 / state.scenario.reissueSeconds)
    }
}

extension SimulatedStore {
    /// - Parameter request: nil if the method was not POST.
    private func answer(to request: ReceiptRequest?, _ fault: ServerFault?, _ call: CallContext) -> StoreAnswer {
        guard let request else { return StoreAnswer(status: 21000) }
        guard case .genuine(let receipt) = request.subject else {
            return .refusal(of: request.subject, at: call.endpoint)
        }
        guard receipt.environment == call.endpoint.environment else {
            return StoreAnswer(status: call.endpoint.statusForOtherEnvironment)
        }
        if let secret = call.scenario.sharedSecret, receipt.hasSubscriptions, request.password != secret {
            return StoreAnswer(status: 21004, environment: call.endpoint.environment)
        }
        var answer = request.answer(for: call.edition) { genuineAnswer(to: request, receipt, call) }
        answer.fault = fault
        if case .latestReceipt(let replacement) = fault, receipt.hasSubscriptions {
            answer.latestReceipt = answer.latestReceipt(replacement, signedBy: pki)
        }
        return answer.rendered(requestedAt: call.now)
    }

    private func genuineAnswer(
        to request: ReceiptRequest, _ receipt: GenuineReceipt, _ call: CallContext
    ) -> GenuineAnswer {
        let now = UTCDate(call.now)
        let account = Account(receipt.contents, stories: call.scenario.stories, start: call.start, now: now)
        let latest = receipt.hasSubscriptions ? IssuedReceipt(account, for: receipt, at: now) : nil
        return GenuineAnswer(
            receipt: receipt, account: account, latestReceipt: latest?.base64(signedBy: pki),
            excludesOldTransactions: request.excludesOldTransactions, seed: call.scenario.seed, issuedAt: now)
    }
}
