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
    private let questions: Mutex<RequestCache>
    private let stage: Mutex<Stage>

    /// The running scenario, and the number of scenarios so far.
    private struct Stage {
        var play: Play
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
        questions = Mutex(RequestCache(maximumBytes: limits.maximumCachedBytes))
        stage = Mutex(Stage(play: Play(scenario, startingAt: now())))
    }

    /// Replaces the current scenario, from its beginning.
    func play(_ scenario: Scenario) {
        let start = now()
        stage.withLock { $0 = Stage(play: Play(scenario, startingAt: start), number: $0.number + 1) }
    }

    /// Returns true if the next connection gets an invalid certificate.
    func showsWrongCertificate(at endpoint: Endpoint) -> Bool {
        let now = now()
        return stage.withLock { $0.play.showsWrongCertificate(at: endpoint, now) }
    }

    /// Decides the outcome of a call, and counts it.
    func performance(of body: [UInt8], isPost: Bool, at endpoint: Endpoint) -> Performance {
        let now = now()
        let (treatment, scene) = stage.withLock { stage in
            (stage.play.treatment(at: endpoint, now), Scene(stage.play, number: stage.number, endpoint, now))
        }
        let request = isPost ? request(body, now) : nil
        let answer = { self.answer(to: request, treatment.fault, scene) }
        let performance = Performance(treatment, now: now, answer: answer)
        stats.begin(at: endpoint, request?.identity, outcome: performance.outcome)
        return performance
    }

    private func request(_ body: [UInt8], _ now: Timestamp) -> ReceiptRequest {
        let fingerprint = Fingerprint(of: body.span)
        if let known = questions.withLock({ $0.request(fingerprint, byteCount: body.count) }) { return known }
        let request = ReceiptRequest(body, verifier: verifier, now: now)
        questions.withLock { $0.insert(request, fingerprint, byteCount: body.count) }
        return request
    }
}

/// The circumstances of a call.
private struct Scene {
    let scenario: Scenario
    let start: UTCDate
    let endpoint: Endpoint
    let now: Timestamp
    let edition: Edition

    init(_ play: Play, number: Int, _ endpoint: Endpoint, _ now: Timestamp) {
        scenario = play.scenario
        start = UTCDate(play.start)
        self.endpoint = endpoint
        self.now = now
        edition = Edition(play: number, issue: UTCDate(now).secondsSince1970 / play.scenario.reissueSeconds)
    }
}

extension SimulatedStore {
    /// - Parameter question: nil if the method was not POST.
    private func answer(to request: ReceiptRequest?, _ fault: ServerFault?, _ scene: Scene) -> StoreAnswer {
        guard let request else { return .status(21000) }
        guard case .genuine(let receipt) = request.subject else {
            return .refusal(of: request.subject, at: scene.endpoint)
        }
        guard receipt.environment == scene.endpoint.environment else {
            return .status(scene.endpoint.statusForOtherEnvironment)
        }
        if let secret = scene.scenario.sharedSecret, receipt.hasSubscriptions, request.password != secret {
            return .status(21004, environment: scene.endpoint.environment)
        }
        guard let deviation = fault?.deviation else {
            let answer = request.answer(for: scene.edition) { render(request, receipt, .init(), scene) }
            return StoreAnswer(status: answer.status, body: answer.body(requestedAt: scene.now))
        }
        let answer = render(request, receipt, deviation, scene)
        return StoreAnswer(status: answer.status, body: answer.body(requestedAt: scene.now))
    }

    private func render(
        _ request: ReceiptRequest, _ receipt: GenuineReceipt, _ deviation: GenuineAnswer.Deviation, _ scene: Scene
    ) -> RenderedAnswer {
        let now = UTCDate(scene.now)
        let account = Account(receipt.contents, stories: scene.scenario.stories, start: scene.start, now: now)
        let latest = LatestReceipt(contents: account.receipt(issuedAt: now), sent: receipt.contents, pki: pki)
        return GenuineAnswer(
            receipt: receipt, account: account,
            latestReceipt: receipt.hasSubscriptions ? latest.text(deviation.latestReceipt) : nil,
            excludesOldTransactions: request.excludesOldTransactions, deviation: deviation,
            seed: scene.scenario.seed, now: now
        ).rendered()
    }
}
