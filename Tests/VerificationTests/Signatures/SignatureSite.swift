// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import JSON
import Logging
import NIOCore
import NIOHTTP1
import Resilience
import Testing

@testable import API
@testable import Clients
@testable import HTTPServer
@testable import Receipts
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// The route for signatures of one client, in a gateway with keys.
final class SignatureSite: Sendable {
    static let app = "com.example.shop"
    static let customer = "2000000123456789"
    static let now = Timestamp(millisecondsSince1970: 1_790_000_000_123)
    static let scope = """
        {\(app): {promotional_offers: {monthly: [comeback, spring], yearly: [spring]}, introductory_offers: [monthly], \
        advanced_commerce: [course-1, course-2]}}
        """

    let log = LogLines()
    private let client: Client
    private let registry: PrometheusRegistry
    private let pipeline: RequestPipeline

    init(
        client: Client? = nil, keys: ServerAPIKeys = ServerAPIKeys(account: ServerAPIKeyFixture.key)
    ) throws {
        self.client = try client ?? Self.client()
        registry = try PrometheusRegistry(MetricCatalogue.all)
        // Lines of changes are written whatever the level.
        let settings = LogSettings(LogSettings.Values(level: .critical)), logger = log.logger(settings)
        let route = SignatureRoute(
            access: CurrentAccess(Access(AccessRules(serverAPIKeys: keys))), charging: try RequestCharging.forTests(),
            metrics: SignatureMetrics(registry), logger: logger, clock: { Self.now }
        ).route
        pipeline = RequestPipeline([route], logger: logger, writingTo: log, settings)
    }

    /// Returns a client as the clients file describes it.
    static func client(signatures: String = scope, limits: String = "[]") throws -> Client {
        let file = try ClientsFile(
            """
            clients:
            - name: shop
              apps: [\(app), com.example.other]
              \(ClientsFile.unusedKeys)
              may: [sign]
              signatures: \(signatures)
              limits: \(limits)
            """)
        return try #require(file.clients.first)
    }

    /// Sends a request; `target` is the path after `/v1/apple/`.
    func send(
        to target: String, _ body: String, contentType: String = "application/json", method: HTTPMethod = .POST
    ) async throws -> Reply {
        try await pipeline.answer(method, "/v1/apple/\(target)", body, contentType, as: client)
    }

    func sign(_ kind: String, _ body: String, app: String = app) async throws -> Reply {
        try await send(to: "\(app)/signatures/\(kind)", body)
    }

    /// The lines about signatures.
    var audit: [String] { log.containing("Signature for StoreKit") }

    func count(_ kind: String, _ outcome: String) -> Double? {
        registry.value(of: #"signatures_total{kind="\#(kind)",outcome="\#(outcome)"}"#)
    }
}

/// A JWS that a reply carries, verified with the public key.
struct SignedClaims {
    let header: String
    let text: String
    let json: JSONValue

    init(_ reply: Reply, key: ServerAPIKey = ServerAPIKeyFixture.key) throws {
        let jws = try #require(try JSONValue(parsing: Array(reply.text.utf8))["jws"]?.string, "\(reply.text)")
        let verified = try CheckedJWS(jws) { _ in key.privateKey.publicPoint }
        (header, text) = (verified.header, verified.payload)
        json = try JSONValue(parsing: Array(text.utf8))
    }
}
