// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOPosix
import Testing
import TestSupport

/// The price of an input is its length: no contents cost more than plain text, and twice the length at most twice as much.
///
/// The measure is the CPU time of the gateway's process, in ratios within one run. Ratios of single requests vary; a
/// quadratic cost is far beyond the bounds.
@Suite(.serialized, .timeLimit(.patient)) struct CostTests {
    private static let requests = 4

    @Test(arguments: CostlyInput.all) func `the cost of an input grows with its length only`(_ input: CostlyInput)
        async throws
    {
        try await Self.withGateway { gateway, backendKey, appKey in
            let key = input.isOfPlugin ? appKey : backendKey
            try await CostComparison.expectLinearCost(of: input.texts, upTo: input.maximumBytes) { text, bytes in
                try await Self.cost(of: input.request(text.bytes(bytes), key), at: gateway)
            }
        }
    }

    /// Returns the CPU time that the gateway takes for one request, in seconds.
    private static func cost(of request: [UInt8], at gateway: RunningGateway) async throws -> Double {
        let before = try gateway.cpuSeconds()
        for _ in 0..<requests { try await send(request, to: gateway.dataPort) }
        return (try gateway.cpuSeconds() - before) / Double(requests)
    }

    /// Sends a request and reads until the gateway closes the connection.
    private static func send(_ request: [UInt8], to port: Int) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        // A refused request may end the connection before it is written.
        try? await channel.writeAndFlush(ByteBuffer(bytes: request))
        try await channel.closeFuture.get()
    }

    private static func withGateway(
        _ body: (RunningGateway, _ backendKey: String, _ appKey: String) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder(), backendKey = try await APIKey(), appKey = try await APIKey()
        let clients = """
            clients:
              - name: shop
                apps: [com.example.shop]
                may: [ownership, erase, purge, sign]
                signatures: {com.example.shop: {advanced_commerce: "*"}}
                keys:
            \(backendKey.lines)  - name: shop-app
                apps: [com.example.shop]
                plugins: [cordova-plugin-purchase, openiap]
                limits: [{name: minute, quota: 100000, window: 60s}]
                keys:
            \(appKey.lines)
            """
        let settings = [
            "GATEWAY_CLIENTS_FILE": try folder.write(clients, to: "clients.yaml"),
            "GATEWAY_HTTP_TRUSTED_PROXIES": "127.0.0.0/8",
            "GATEWAY_NOTIFICATIONS_ALLOW_VOLATILE": "true", "GATEWAY_LOG_REQUESTS": "none",
        ]
        let gateway = try await RunningGateway(APIKey.pepper.merging(settings) { $1 })
        try await body(gateway, backendKey.text, appKey.text)
        #expect(await gateway.stop() == 0)
    }
}
