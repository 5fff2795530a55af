// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Gateway
import RealServers
import ReceiptForge
import Receipts
import Redis
import Resilience
import ServiceLifecycle
import Synchronization
import Telemetry
import Testing
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import RedisStore
@testable import Server
@testable import Settings

/// A node of a fleet without HTTP: the shared store as the gateway wires it, with a scripted Apple.
struct StoreNode: Sendable {
    let apple: ScriptedApple
    let health: StoreHealth
    let upstreams: UpstreamState
    let metrics: GatewayMetrics
    let fleet: FleetStore
    let verification: VerificationService

    init(
        _ redis: RedisConfiguration, apple: ScriptedApple = ScriptedApple(), cacheKeys: String = Self.cacheKey
    ) throws {
        self.apple = apple
        var configuration = GatewayConfiguration()
        configuration.redis = redis
        configuration.cacheKeys = try StoreKeys(cacheKeys)
        let dependencies = Dependencies(
            logger: .silent,
            shutdownRequests: AsyncStream { $0.finish() })
        upstreams = UpstreamState(configuration.apple)
        health = StoreHealth(isEmbedded: redis.url == nil)
        metrics = GatewayMetrics(
            configuration, lifecycle: ServerLifecycle(), bodyBudget: BodyBudget(.mebibytes(1)),
            access: CurrentAccess(Access(AccessRules())), upstreams: upstreams, store: health, in: dependencies)
        fleet = try FleetStore(
            configuration, upstreams: upstreams, health: health, metrics: metrics.store,
            certificates: metrics.certificates, clock: dependencies.clock, logger: dependencies.logger)
        let connection = UpstreamConnection(
            apple, guards: upstreams.guards, lifecycle: upstreams.lifecycle, timeouts: .unhurried)
        let upstream = UpstreamVerification(
            connection, fleet: fleet.ports, policy: CachePolicy { 0 }, observe: metrics.upstream.observe,
            clock: { .now() })
        verification = VerificationService(verifier: CurrentVerifier(Forged.verifier), apple: upstream)
    }

    static let cacheKey = "test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Verifies a receipt in mode `apple`.
    func ask(_ receipt: [UInt8], maximumAge: Duration? = nil) async throws -> Answer {
        let request = VerificationRequest(evidence: .appReceipt(receipt), mode: .apple)
            .with { $0.maximumAge = maximumAge }
        return try await verification.answer(request, at: .now()).value()
    }

    func metric(_ series: String) -> Double? { metrics.registry.value(of: series) }

    /// Runs nodes around `body`, from before they are ready until they have left.
    static func run(
        _ nodes: [StoreNode], isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async throws {
        let running = nodes.map { node in Task { try await node.fleet.service?.run() } }
        let outcome: Result<Void, any Error>
        do {
            for node in nodes { try await eventually { node.health.condition != .connecting } }
            outcome = .success(try await body())
        } catch { outcome = .failure(error) }
        for task in running { task.cancel() }
        for task in running { try? await task.value }
        try outcome.get()
    }
}

extension RedisConfiguration {
    /// Returns a configuration in which nothing times out unless a test sets a deadline, however busy the machine is.
    static func test(
        _ server: RealServer, user: String? = nil, password: String? = nil, deadline: Duration = Patience.forOperation
    ) throws -> RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.url = try RedisURL("redis://127.0.0.1:\(server.port)")
        (configuration.user, configuration.password) = (user, password.map { Password(secret: Secret($0)) })
        (configuration.deadline, configuration.connectDeadline) = (deadline, Patience.forOperation)
        return configuration
    }
}

extension UpstreamTimeouts {
    static let unhurried: UpstreamTimeouts = {
        var waitLimit = UpstreamTimeouts()
        (waitLimit.deadline, waitLimit.softTimeout) = (.seconds(600), .seconds(600))
        return waitLimit
    }()
}

/// Forged receipts and their verifier.
enum Forged {
    static let pki = ForgedPKI(seed: 1)
    static let forge = FaultForge(pki: pki)

    static let verifier: ReceiptVerifier = {
        var store = TrustStore.apple
        guard (try? store.add(pem: pki.rootPEM, environments: [.sandbox])) != nil else {
            preconditionFailure("the forge's root is no trust anchor")
        }
        return ReceiptVerifier(trustStore: store)
    }()

    static let service = VerificationService(verifier: CurrentVerifier(verifier))

    /// Returns distinct receipts.
    static func receipts(_ count: Int) -> [[UInt8]] {
        (0..<count).map { number in
            var contents = forge.contents
            let date = contents.creationDate
            contents.purchases = [
                PurchaseContents(productID: "item", transactionID: "\(1000 + number)", purchaseDate: date)
            ]
            return pki.sign(contents)
        }
    }
}

/// A scripted Apple that counts its requests.
final class ScriptedApple: Upstream {
    private let reply: Mutex<UpstreamReply>
    private let questions = Atomic(0)
    private let isOpen: Atomic<Bool>

    /// - Parameter isOpen: true to answer requests before `open` is called.
    init(_ reply: UpstreamReply = .knows, isOpen: Bool = true) {
        self.reply = Mutex(reply)
        self.isOpen = Atomic(isOpen)
    }

    /// The number of requests.
    var count: Int { questions.load(ordering: .relaxed) }

    func open() { isOpen.store(true, ordering: .relaxed) }

    func secret(forApp bundleID: String?) -> Secret? { Self.secret }

    /// The shared secret of every app.
    static let secret = Secret("configured")

    func send(
        _ options: UpstreamRequest, at endpoint: UpstreamEndpoint, deadline: ContinuousClock.Instant
    ) async -> UpstreamResponse {
        questions.add(1, ordering: .relaxed)
        try? await eventually { isOpen.load(ordering: .relaxed) }
        return UpstreamResponse(reply.withLock(\.self))
    }
}

extension UpstreamReply {
    static let knows = UpstreamReply.answer(
        UpstreamAnswer(
            environment: .sandbox, bundleID: Forged.forge.contents.bundleID, transactions: [], renewals: [],
            latestReceipt: nil,
            body: Array(
                #"{"status":0,"environment":"Sandbox","receipt":{"bundle_id":"\#(Forged.forge.contents.bundleID)"}}"#
                    .utf8)))
}
