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
        self.pki = pki
        self.limits = limits
        self.now = now
        verifier = ReceiptVerifier(trustStore: trustStore)
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

/// The circumstances of a call.
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
        guard let request else { return .status(21000) }
        guard case .genuine(let receipt) = request.subject else {
            return .refusal(of: request.subject, at: call.endpoint)
        }
        guard receipt.environment == call.endpoint.environment else {
            return .status(call.endpoint.statusForOtherEnvironment)
        }
        if let secret = call.scenario.sharedSecret, receipt.hasSubscriptions, request.password != secret {
            return .status(21004, environment: call.endpoint.environment)
        }
        guard let deviation = fault?.deviation else {
            let answer = request.answer(for: call.edition) { render(request, receipt, .init(), call) }
            return StoreAnswer(status: answer.status, body: answer.body(requestedAt: call.now))
        }
        let answer = render(request, receipt, deviation, call)
        return StoreAnswer(status: answer.status, body: answer.body(requestedAt: call.now))
    }

    private func render(
        _ request: ReceiptRequest, _ receipt: GenuineReceipt, _ deviation: GenuineAnswer.Deviation, _ call: CallContext
    ) -> RenderedAnswer {
        let now = UTCDate(call.now)
        let account = Account(receipt.contents, stories: call.scenario.stories, start: call.start, now: now)
        let latest = LatestReceipt(contents: account.receipt(issuedAt: now), sent: receipt.contents, pki: pki)
        return GenuineAnswer(
            receipt: receipt, account: account,
            latestReceipt: receipt.hasSubscriptions ? latest.text(deviation.latestReceipt) : nil,
            excludesOldTransactions: request.excludesOldTransactions, deviation: deviation,
            seed: call.scenario.seed, now: now
        ).rendered()
    }
}
