// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Cryptography
import Logging
import RealServers
import ReceiptForge
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// A real Redis and a simulated Apple, for gateways whose spans are exported.
struct TracedFleet {
    let redis: RealServer
    private let apple: AppleSimulator
    private let root: String

    /// Runs a test with the servers.
    static func run(_ test: (TracedFleet) async throws -> Void) async throws {
        let redis = try await RealServer.redis()
        let apple = try await AppleSimulator.start(AppleSimulator.Configuration(pki: Forged.pki))
        let folder = try TemporaryFolder(), root = try folder.write(Forged.pki.rootPEM, to: "root.pem")
        try await test(TracedFleet(redis: redis, apple: apple, root: root))
        await apple.stop()
        redis.kill()
    }

    /// Runs a single node with the servers.
    static func withNode(to collector: CollectorURL, _ test: (RunningGateway) async throws -> Void) async throws {
        try await run { try await $0.withNode(to: collector, test) }
    }

    /// Runs a node.
    /// - Parameter reachesApple: false to refuse its connections to Apple.
    func withNode(
        to collector: CollectorURL, reachesApple: Bool = true, _ test: (RunningGateway) async throws -> Void
    ) async throws {
        let url = try RedisURL("redis://127.0.0.1:\(redis.port)"), keys = try StoreKeys(StoreNode.cacheKey)
        let closed = "http://127.0.0.1:1/verifyReceipt"
        try await RunningGateway.with({
            $0.apple.isEnabled = true
            ($0.apple.productionURL, $0.apple.sandboxURL) = (
                UpstreamURL(reachesApple ? apple.productionURL : closed),
                UpstreamURL(reachesApple ? apple.sandboxURL : closed)
            )
            $0.apple.sharedSecret = Secret("0123456789abcdef0123456789abcdef")
            $0.trustRoots = [TrustRoot(path: root, environments: [.sandbox])]
            ($0.redis.url, $0.redis.deadline) = (url, Patience.forOperation)
            $0.cacheKeys = keys
            $0.log.values.level = .debug
            $0.traces.endpoint = collector
        }) { gateway in
            try await eventually {
                try await gateway.ask("GET /readyz", port: gateway.adminPort)?.status == 200
            }
            try await test(gateway)
        }
    }
}
