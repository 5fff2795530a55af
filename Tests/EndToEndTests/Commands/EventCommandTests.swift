// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// The commands about events and webhooks, with a running gateway, Redis and `receipt-loadtest apple`.
@Suite(.serialized, .timeLimit(.patient), .sharedCorpus) struct EventCommandTests {
    private var stage: ServerAPIStage { .current }

    /// The settings of the stage, with a clients file for the commands that has a webhook.
    private static func settings(of stage: ServerAPIStage, in folder: ScratchFolder) throws -> [String: String] {
        let clients = """
            clients:
              - name: shop
                apps: [\(ServerAPIStage.bundleID)]
                keys: []
                webhooks:
                  - {name: crm, url: 'https://127.0.0.1:1/hooks?key=hidden', secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]}

            """
        return try stage.settings.merging(["GATEWAY_CLIENTS_FILE": folder.write(clients, to: "webhooks.yaml")]) { $1 }
    }

    @Test(.serverAPI) func `events are listed, shown and replayed`() async throws {
        let folder = try ScratchFolder(), settings = try Self.settings(of: stage, in: folder)
        func run(_ arguments: String...) async throws -> Program.Outcome {
            try await Program.gateway.run(["events"] + arguments, environment: settings)
        }
        let gateway = "http://127.0.0.1:\(stage.gateways[0].dataPort)"
        try await stage.apple.sendNotifications(to: gateway + "/apple/notifications")
        _ = try await stage.apple.notify(["type": "DID_RENEW", "count": 5])
        try await eventually("the events are written") {
            try await run("list", "--format", "json").output.split(separator: "\n").count == 5
        }
        let listed = try await run("list")
        #expect(listed.status == 0 && listed.errors.isEmpty, "\(listed)")
        let lines = try await run("list", "--format", "json").output.split(separator: "\n").map(String.init)
        let first = try #require(lines.first)
        let event = try JSONSerialization.jsonObject(with: Data(first.utf8)) as? [String: Any]
        let id = try #require(event?["id"] as? String)
        #expect(listed.output.contains(id))
        let shown = try await run("show", id, "--bundle-id", ServerAPIStage.bundleID)
        #expect(shown.status == 0 && shown.output == first + "\n", "\(shown)")
        let unconfirmed = try await run("replay", "--endpoint", "shop/crm", "--from-start")
        #expect(unconfirmed.status == 1 && unconfirmed.errors.contains("add --yes"), "\(unconfirmed)")
        let replayed = try await run("replay", "--endpoint", "shop/crm", "--from-start", "--yes")
        #expect(replayed.status == 0 && replayed.errors.hasPrefix("5 events since "), "\(replayed)")
        let endpoints = try await run("endpoints", "--format", "json")
        #expect(endpoints.output.contains(#""unread":5,"#) && !endpoints.output.contains("hidden"), "\(endpoints)")
        let webhooks = try await Program.gateway.run(["webhook", "list"], environment: settings)
        let row = webhooks.output.split(separator: "\n").last ?? ""
        #expect(webhooks.status == 0 && row.hasPrefix("shop/crm  127.0.0.1:1  events  1 "), "\(webhooks)")
    }

    @Test(.serverAPI) func `what does not exist has advice and an exit status`() async throws {
        let folder = try ScratchFolder()
        var settings = try Self.settings(of: stage, in: folder)
        func run(_ arguments: [String]) async throws -> Program.Outcome {
            try await Program.gateway.run(arguments, environment: settings)
        }
        let unknown = try await run(["events", "show", "evt_none"])
        #expect(unknown.status == 1 && unknown.errors.contains("gateway.events"), "\(unknown)")
        let misspelt = try await run(["events", "redeliver", "--endpoint", "shop/crn"])
        #expect(misspelt.status == 64 && misspelt.errors.contains("It has shop/crm."), "\(misspelt)")
        let alive = try await run(["events", "redeliver", "--endpoint", "shop/crm", "evt_none"])
        #expect(alive.status == 1 && alive.output.contains("is no dead event"), "\(alive)")
        let unreached = try await run(["webhook", "test", "--endpoint", "shop/crm"])
        #expect(unreached.status == 1 && unreached.output.contains("(forbidden_address)"), "\(unreached)")
        settings["GATEWAY_REDIS_URL"] = nil
        let storeless = try await run(["events", "list"])
        #expect(storeless.status == 78 && storeless.errors.contains("gateway.redis.url"), "\(storeless)")
    }
}
