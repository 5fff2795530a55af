// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import NIOCore
import ReceiptForge
import Testing
import TestSupport

/// The price of Apple's reply is its length too.
@Suite(.serialized, .timeLimit(.patient)) struct ReplyCostTests {
    private static let requests = 2

    @Test(arguments: CostlyReply.ofVerifyReceipt)
    func `the cost of an answer of verifyReceipt grows with its length only`(_ reply: CostlyReply) async throws {
        let receipt = Sample.receipt()
        try await Self.expectLinearCost(of: reply) { gateway in
            _ = try await gateway.verify(receipt, ["mode": "apple", "max_age": 0])
        }
    }

    @Test(arguments: CostlyReply.ofServerAPI)
    func `the cost of an answer of the App Store Server API grows with its length only`(
        _ reply: CostlyReply
    ) async throws {
        let pki = TransactionPKI(seed: 51), appleKey = ForgedAPIKey(seed: 52), folder = try ScratchFolder()
        let evidence = SimulatedCustomers(1, at: Sample.now).signedTransaction(0, by: pki)
        let key = try await APIKey()
        let lines = """
            clients:
              - name: shop
                apps: [\(SimulatedCustomers.bundleID)]
                keys:
            \(key.lines)
            server_api:
              issuer_id: \(appleKey.issuerID)
              key_id: \(appleKey.keyID)
              private_key_file: \(try folder.write(appleKey.privateKeyPEM, to: appleKey.fileName))

            """
        let settings = [
            "GATEWAY_CLIENTS_FILE": try folder.write(lines, to: "clients.yaml"),
            "GATEWAY_TRUST_ROOTS": try folder.write(pki.root.pem, to: "jws-root.pem") + "=Sandbox+Production",
        ]
        try await Self.expectLinearCost(of: reply, settings.merging(APIKey.pepper) { $1 }) { gateway in
            _ = try await gateway.verify(evidence, ["mode": "apple", "max_age": 0], key: key.text)
        }
    }

    /// Compares the costs of requests that a server in Apple's place answers with one reply.
    private static func expectLinearCost(
        of reply: CostlyReply, _ settings: [String: String] = [:], request: (RunningGateway) async throws -> Void
    ) async throws {
        let apple = try await FixedReplies.listen()
        let urls = ("http://127.0.0.1:\(apple.port)/verifyReceipt", "http://127.0.0.1:\(apple.port)/verifyReceipt")
        let all = [
            "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": "http://127.0.0.1:\(apple.port)",
            "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": "http://127.0.0.1:\(apple.port)",
            "GATEWAY_APPLE_BREAKER": "forced_closed", "GATEWAY_LOG_REQUESTS": "none",
        ].merging(settings) { $1 }
        try await withGateway(askingAt: urls, all) { gateway in
            try await CostComparison.expectLinearCost(of: reply.texts, upTo: reply.maximumBytes) { text, bytes in
                apple.reply = ByteBuffer(bytes: reply.bytes(text.bytes(bytes)))
                let before = (cpu: try gateway.cpuSeconds(), replies: apple.count)
                // Each with `max_age` 0: what is read of a hostile answer is cached as that of any other.
                for _ in 0..<requests { try await request(gateway) }
                let replies = apple.count - before.replies
                try #require(replies >= requests, "\(replies) replies to \(requests) requests")
                return (try gateway.cpuSeconds() - before.cpu) / Double(replies)
            }
        }
        try await apple.close()
    }
}
