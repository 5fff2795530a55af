// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// Faults of endpoints and of gateways: one endpoint never delays another, and nothing is lost or out of order.
@Suite(.serialized, .timeLimit(.patient)) struct WebhookFaultTests {
    /// The limit of a wait for an event whose second attempt failed, too: the third comes after five minutes.

    private static let faults: [String: ReceiverFault] = [
        "down": .down, "slow": .slow(.milliseconds(400)), "stuck": .slow(.seconds(30)), "redirecting": .redirect,
        "short": .short, "long": .long, "endless": .endless, "overloaded": .status(503, retryAfter: 1),
    ]

    @Test func `endpoints that fail in every way delay only themselves, and get all events once they work`()
        async throws
    {
        let count = 20
        let endpoints = (["first", "second"] + Self.faults.keys.sorted()).map { EventStage.Endpoint(name: $0) }
        try await EventStage.run(customers: count, endpoints) { stage in
            for (name, fault) in Self.faults { try await stage.receiver.set(fault, of: stage.endpoint(name)) }
            try stage.fleet.notify("DID_RENEW", about: 0..<count)
            _ = try await EventTests.written(count, by: stage)
            try stage.fleet.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", about: 0..<count)
            let written = try await EventTests.written(2 * count, by: stage)
            for name in ["first", "second"] { try await stage.expect(written, at: name) }
            // They were complete while the others were not.
            #expect(try stage.counts(of: "down").accepted == 0 && stage.counts(of: "overloaded").accepted == 0)
            #expect(try stage.counts(of: "redirecting").accepted == 0 && stage.counts(of: "stuck").accepted == 0)
            for name in Self.faults.keys { try await stage.receiver.set(.none, of: stage.endpoint(name)) }
            let log = try await stage.log()
            for endpoint in endpoints {
                try await stage.expect(written, at: endpoint.name)
                try stage.expectLog(log, at: endpoint.name)
            }
        }
    }

    @Test func `a certificate that has expired or is unknown gets nothing, and a trusted one everything`() async throws
    {
        let folder = try ScratchFolder(), authority = Sample.tlsAuthority, count = 10
        let hosts = ["localhost", "127.0.0.1"]
        let servers = try await [
            "trusted": Self.server(authority.identity(forHosts: hosts)),
            "expired": Self.server(authority.expiredIdentity(forHosts: hosts)),
            "unknown": Self.server(TLSAuthority(seed: 99).identity(forHosts: hosts)),
        ]
        let lines = servers.map { name, server in Self.lines(name, server.receiver, server.secret) }.joined()
        let settings = ["GATEWAY_WEBHOOKS_CA_FILE": try folder.write(authority.certificatePEM, to: "ca.pem")]
        try await EventStage.run(customers: count, [.init(name: "shop")], webhooks: lines, settings: settings) {
            stage in
            try stage.fleet.notify("DID_RENEW", about: 0..<count)
            let written = try await EventTests.written(count, by: stage)
            try await stage.expect(written, at: "shop")
            let trusted = try #require(servers["trusted"]?.receiver.endpoints.first)
            try await eventually("the trusted one has all") { trusted.tally.counts.distinct == written }
            for name in ["expired", "unknown"] {
                let labels = ["endpoint": "\(ClientsFile.clientName)/\(name)", "reason": "tls"]
                try await eventually("\(name) fails by TLS") {
                    try await stage.fleet.sum("webhook_failures_total", labels) > 0
                }
                #expect(servers[name]?.receiver.endpoints.first?.tally.counts.requests == 0)
            }
        }
        for server in servers.values { await server.receiver.stop() }
    }

    @Test func `the other node takes over from one that is killed, and nothing is lost`() async throws {
        let count = 100
        try await EventStage.run(customers: count, [.init(name: "shop"), .init(name: "other")]) { stage in
            for name in ["shop", "other"] {
                try await stage.receiver.set(.slow(.milliseconds(50)), of: stage.endpoint(name))
            }
            try stage.fleet.notify("DID_RENEW", about: 0..<count)
            try stage.fleet.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", about: 0..<count)
            // Each node delivers some partitions, so that the first one dies in the middle of its own.
            try await eventually("deliveries are under way") { try stage.counts(of: "shop").distinct >= 10 }
            try await stage.fleet.nodes[0].kill()
            try await eventually("Apple has all acknowledged") { stage.fleet.isDelivered }
            let survivor = stage.fleet.nodes[1]
            try await eventually("all are applied") {
                try [stage.redis].pendingNotifications() == 0
            }
            #expect(try await survivor.isReady())
            let events = try await stage.log(at: 1)
            #expect(events.counts.distinct >= 2 * count)
            for name in ["shop", "other"] {
                try await stage.expect(events.counts.distinct, at: name)
                try stage.expectLog(events, at: name)
            }
            try await stage.fleet.nodes[0].start()
        }
    }

    @Test func `410 disables an endpoint until an operator enables it`() async throws {
        try await EventStage.run(customers: 10, [.init(name: "shop"), .init(name: "other")]) { stage in
            let shop = try stage.endpoint("shop"), name = "\(ClientsFile.clientName)/shop"
            try await stage.receiver.set(.gone, of: shop)
            try stage.fleet.notify("DID_RENEW", about: 0..<1)
            try await eventually("it is disabled") {
                try await stage.fleet.sum("webhook_endpoint_disabled", ["endpoint": name]) > 0
            }
            try await stage.receiver.set(.none, of: shop)
            let listed = try await stage.run(["events", "endpoints"])
            #expect(listed.status == 0 && listed.output.contains(name), "\(listed)")
            let refused = shop.tally.counts.refused
            try stage.fleet.notify("DID_RENEW", about: 1..<10)
            let written = try await EventTests.written(10, by: stage)
            try await stage.expect(written, at: "other")
            // The other endpoint has everything, and this one was not even tried.
            #expect(shop.tally.counts.accepted == 0 && shop.tally.counts.refused == refused)
            let enabled = try await stage.run(["events", "endpoints", "--enable", name])
            #expect(enabled.status == 0, "\(enabled)")
            try await stage.expect(written, at: "shop")
            try stage.expectLog(try await stage.log(), at: "shop")
        }
    }

    @Test func `a reload adds an endpoint, which begins at the newest event, and removes one`() async throws {
        let added = [EventStage.Endpoint(name: "new")]
        try await EventStage.run(customers: 10, [.init(name: "shop")], added: added) { stage in
            try stage.fleet.notify("DID_RENEW", about: 0..<5)
            let before = try await EventTests.written(5, by: stage)
            try await stage.expect(before, at: "shop")
            try await stage.reload(["shop", "new"])
            // A new endpoint has a position as soon as a node works on it.
            let probe = try await stage.run(["webhook", "test", "--endpoint", "\(ClientsFile.clientName)/new"])
            #expect(probe.status == 0, "\(probe)")
            try await eventually("all queues of the new endpoint have a position") {
                try await stage.run(["events", "endpoints"]).output.contains("\(ClientsFile.clientName)/new")
            }
            try stage.fleet.notify("DID_RENEW", about: 5..<10)
            let all = try await EventTests.written(10, by: stage)
            try await stage.expect(all, at: "shop")
            let new = try stage.endpoint("new")
            // The test delivery is one more.
            try await eventually("the new endpoint has the new events") {
                new.tally.counts.distinct >= all - before + 1
            }
            #expect(new.tally.counts.unsigned == 0 && new.tally.counts.malformed == 0)
            let after = new.tally.counts.requests
            try stage.fleet.clients.write(webhooks: "")
            for node in stage.fleet.nodes {
                try node.running.hangUp()
                try await node.running.expect(successes: 2)
            }
            try stage.fleet.notify("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", about: 0..<10)
            _ = try await EventTests.written(20, by: stage)
            #expect(new.tally.counts.requests == after)
        }
    }

    // MARK: - Steps

    private static func server(_ identity: TLSIdentity) async throws -> (receiver: WebhookReceiver, secret: String) {
        let secret = WebhookSecret.new()
        let key = try #require(WebhookVerifier(secret))
        let plan = ReceiverEndpoint.Plan(name: "events", keys: [key])
        return (try await WebhookReceiver.start(.init(endpoints: [plan], tls: identity)), secret)
    }

    private static func lines(_ name: String, _ receiver: WebhookReceiver, _ secret: String) -> String {
        """
              - name: \(name)
                url: \(receiver.endpoints.first.map(receiver.url) ?? "")
                secrets: [\(secret)]

        """
    }
}
