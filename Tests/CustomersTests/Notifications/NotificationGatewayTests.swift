// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Telemetry
import Testing
import TestSupport

@testable import Clients
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// Apple's notifications and their effects in a whole gateway.
@Suite("Notifications in a gateway", .timeLimit(.patient))
struct NotificationGatewayTests {
    private static let path = "/apple/notifications"

    @Test(arguments: [true, false])
    func `a refund changes the answer about the purchase, also a cached one`(isAppleEnabled: Bool) async throws {
        try await Self.with({ $0.apple.isEnabled = isAppleEnabled }) { gateway in
            let body = try SignedSamples.body([
                "signed_transactions": [SignedSamples.text(TransactionContents())]
            ])
            #expect(try await Self.verify(body, gateway) == Verified(state: "active", source: "local", cache: "miss"))
            #expect(try await Self.verify(body, gateway) == Verified(state: "active", source: "local", cache: "near"))
            #expect(try await gateway.post(Self.path, body: Self.refund)?.status == 200)
            try await eventually { try await Self.verify(body, gateway).state == "revoked" }
            #expect(try await Self.verify(body, gateway).source == "notification")
        }
    }

    @Test func `an effect is counted, and a scrape has the state of the queue`() async throws {
        try await Self.with { gateway in
            for _ in 1...2 { #expect(try await gateway.post(Self.path, body: Self.refund)?.status == 200) }
            // After the next survey. Time stands still.
            let lines = [
                #"notification_last_age_seconds{bundle_id="com.example.forge"} 0"#,
                #"notifications_applied_total{effect="changed"} 1"#, "notification_apply_seconds_count 1",
                #"notifications_received_total{version="v2",origin="posted",outcome="duplicate"} 1"#,
                "notification_backlog_entries 0", "notification_backlog_bytes 0", "notification_dead_letters 0",
                "notification_oldest_pending_seconds 0",
            ]
            try await eventually {
                let text = gateway.server.metrics.text()
                return lines.allSatisfy { text.contains("\nreceipt_gateway_\($0)\n") }
            }
        }
    }

    @Test func `without Redis nothing is stored, unless that is permitted`() async throws {
        try await Self.with({ $0.notifications.allowsVolatile = false }) { gateway in
            let answer = try await gateway.post(Self.path, body: Self.refund)
            #expect(answer?.status == 503 && answer?.headers["retry-after"] == "60")
            #expect(answer?.body.jsonObject?["fault"] as? String == "store_volatile")
        }
    }

    @Test func `with a clients file its apps are served, and Apple needs no key`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            clients: [{name: shop, apps: [com.example.forge], keys: []}]
            apps: [{bundle_id: com.example.numbered, app_apple_id: 7}]
            """, to: "clients.yaml")
        try await Self.with({
            $0.clientsFile = file
            $0.apiKeyPepper = RunningGateway.pepper
        }) { gateway in
            #expect(try await gateway.post(Self.path, body: Self.refund)?.status == 200)
            for (app, status) in [("com.example.numbered", 200), ("com.example.other", 503)] {
                let test = SignedNotifications.v2(about: nil) { $0.data?.bundleID = app }
                #expect(try await gateway.post(Self.path, body: test)?.status == status, "\(app)")
            }
            // The other path, as any that is not there, needs a key.
            let answer = try await gateway.post("\(Self.path)/a-token-of-sixteen-characters", body: "{}")
            #expect(answer?.status == 401)
        }
    }

    @Test func `a slash at the end of the path is ignored`() async throws {
        let text = "a-token-of-sixteen-characters"
        let token = try NotificationToken(configuration: text)
        for (setToken, ending, status) in [
            (nil, "/", 200), (nil, "//", 404), (token, "/\(text)/", 200), (token, "/\(text)//", 404), (token, "/", 404),
        ] as [(NotificationToken?, String, Int)] {
            try await Self.with({ $0.notifications.token = setToken }) { gateway in
                let answer = try await gateway.post(Self.path + ending, body: Self.refund)
                #expect(answer?.status == status, "\(ending)")
            }
        }
    }

    @Test func `a problem ends the connection, and a page of another site may post as anyone may`() async throws {
        try await Self.with { gateway in
            let foreign = ["Origin: https://example.com", "Sec-Fetch-Site: cross-site"]
            let answer = try await gateway.post(Self.path, foreign, body: "{}")
            #expect(answer?.status == 400 && answer?.headers["connection"] == "close")
            #expect(try await gateway.ask("GET /apple/notifications")?.headers["allow"] == "POST, OPTIONS")
        }
    }

    @Test func `a body beyond four mebibytes is not read`() async throws {
        try await Self.with { gateway in
            let answer = try await gateway.send(
                "POST \(Self.path) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4194305\r\n\r\n"
            )
            #expect(answer?.status == 413)
        }
    }

    // MARK: - Steps

    private static let refund = SignedNotifications.refund()

    private struct Verified: Equatable {
        var state: String?
        var source: String?
        var cache: String?
    }

    private static func verify(_ body: String, _ gateway: RunningGateway) async throws -> Verified {
        let answer = try await gateway.post("/v1/verify", body: body)
        let members = answer?.body.jsonObject
        let provenance = members?["provenance"] as? NSDictionary
        let subscription = (members?["subscriptions"] as? [NSDictionary])?.first
        return Verified(
            state: subscription?["state"] as? String, source: provenance?["source"] as? String,
            cache: provenance?["cache"] as? String)
    }

    /// Runs a gateway that trusts the forge's root, and keeps notifications without Redis.
    private static func with(
        _ change: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        try await RunningGateway.with(
            trusting: [SignedSamples.pki.root.pem],
            {
                $0.notifications.allowsVolatile = true
                change(&$0)
            }, dependencies: { $0.clock = { SignedSamples.now } }, body)
    }
}
