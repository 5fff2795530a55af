// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// The commands about notifications, with a running gateway, Redis and `receipt-loadtest apple`.
@Suite(.serialized, .timeLimit(.patient), .sharedCorpus) struct NotificationCommandTests {
    private var stage: ServerAPIStage { .current }

    private static func run(_ arguments: [String], on stage: ServerAPIStage) async throws -> Program.Outcome {
        try await Program.gateway.run(["notifications"] + arguments, environment: stage.settings)
    }

    @Test(.serverAPI) func `a backfill stores what was lost, once, and the gateway applies it`() async throws {
        let lost = try await stage.apple.notify(["type": "DID_RENEW", "count": 25, "deliver": false])
        #expect(lost.count == 25)
        let since = Date(timeIntervalSinceNow: -3600).formatted(.iso8601)
        let first = try await Self.run(["backfill", "--since", since, "--environment", "production"], on: stage)
        #expect(first.status == 0, "\(first.errors)")
        // Each is read among those without acknowledgement, and among all.
        let app = ServerAPIStage.bundleID
        #expect(first.output == "\(app) production: 4 pages, 25 new, 25 known, 0 rejected\n")
        let second = try await Self.run(["backfill", "--since", since, "--app", app], on: stage)
        #expect(second.status == 0 && second.output.contains("0 new, 50 known"), "\(second.output)\(second.errors)")
        #expect(second.output.contains("\(app) sandbox: 2 pages, 0 new, 0 known"))
        try await eventually("the gateway applies them") {
            let scrape = try await Scrape(stage.gateways[0])
            return scrape[#"notifications_applied_total{effect="changed"}"#] == 25
        }
    }

    @Test(.serverAPI) func `a test notification arrives at the URL, or Apple says why it does not`() async throws {
        let command = ["test", "--app", ServerAPIStage.bundleID, "--timeout"]
        let unset = try await Self.run(command + ["30"], on: stage)
        #expect(unset.status == 1 && unset.output.contains("no URL for this environment"), "\(unset)")
        let gateway = "http://127.0.0.1:\(stage.gateways[0].dataPort)"
        try await stage.apple.sendNotifications(to: gateway + "/apple/notifications")
        let arrived = try await Self.run(command + ["600"], on: stage)
        #expect(arrived.status == 0 && arrived.output.contains("has arrived"), "\(arrived)")
        try await stage.apple.sendNotifications(to: gateway + "/another/path")
        let limit = Int(Patience.forLimit / .seconds(1))
        // On a machine that stands still, Apple's attempt may end after that time.
        try await eventually("Apple says why") {
            let missing = try await Self.run(command + ["\(limit)"], on: stage)
            #expect(missing.status == 1, "\(missing)")
            return missing.output.contains("UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        }
    }

    @Test(.serverAPI) func `without dead letters the list says so`() async throws {
        let none = try await Self.run(["dead"], on: stage)
        #expect(none.status == 0 && none.output.isEmpty && none.errors == "There are no dead letters.\n", "\(none)")
        let strange = try await Self.run(["dead", "--app", "com.example.strange"], on: stage)
        #expect(strange.status == 64 && strange.errors.contains("does not name the app"), "\(strange)")
    }

    @Test(.serverAPI) func `without Redis or a key there is advice`() async throws {
        var settings = stage.settings
        let strange = ["notifications", "test", "--app", "com.example.strange"]
        let unnamed = try await Program.gateway.run(strange, environment: settings)
        #expect(unnamed.status == 78 && unnamed.errors.contains("does not name the app"), "\(unnamed)")
        settings["GATEWAY_REDIS_URL"] = nil
        let backfill = ["notifications", "backfill", "--since", "2026-11-20T00:00:00Z"]
        let storeless = try await Program.gateway.run(backfill, environment: settings)
        #expect(storeless.status == 78 && storeless.errors.contains("gateway.redis.url"), "\(storeless)")
    }
}

extension AppleProcess {
    /// Changes customers, and notifies the app.
    /// - Returns: the notifications' UUIDs.
    func notify(_ members: [String: Any]) async throws -> [String] {
        let answer = try await sendControl("POST", members)
        return try #require(answer["notification_uuids"] as? [String])
    }

    /// Sets the URL of the app's notifications.
    func sendNotifications(to url: String) async throws {
        _ = try await sendControl("PUT", ["url": url, "version": 2, "time_scale": 0.0001])
    }

    private func sendControl(_ method: String, _ members: [String: Any]) async throws -> [String: Any] {
        let app: [String: Any] = ["bundle_id": ServerAPIStage.bundleID, "environment": "production"]
        let body = try Data(json: app.merging(members) { $1 })
        let answer = try await HTTPCall(method, url: productionURL + "/notifications", body: body).answer()
        try #require(answer.status < 300, "\(String(decoding: answer.body, as: UTF8.self))")
        return answer.body.isEmpty ? [:] : try answer.json
    }
}
