// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import NIOCore
import RealServers
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import LoadTest

/// A fleet of two gateways, Apple's notifications, and endpoints in this process that receive its webhooks.
struct EventStage {
    let fleet: NotificationFleet
    let redis: RealServer
    let receiver: WebhookReceiver
    private let secrets: [String: String]

    /// The newest deliveries that each endpoint keeps.
    static let keptDeliveries = 1000

    func endpoint(_ name: String) throws -> ReceiverEndpoint { try #require(receiver[name]) }

    func counts(of name: String) throws -> DeliveryTally.Counts { try endpoint(name).tally.counts }

    /// The key of an endpoint, as the clients file has it.
    func secret(of name: String) throws -> String { try #require(secrets[name]) }

    /// The bodies that an endpoint received, as JSON, copies included.
    func events(at name: String) throws -> [[String: Any]] {
        try endpoint(name).deliveries.map { delivery in
            try #require(try JSONSerialization.jsonObject(with: Data(delivery.body)) as? [String: Any])
        }
    }

    /// Waits until an endpoint has this many different events.
    func expect(_ count: Int, at name: String) async throws {
        let endpoint = try endpoint(name)
        try await eventually("\(name) has \(count) events") {
            endpoint.tally.counts.distinct >= count
        }
        #expect(endpoint.tally.counts.distinct == count)
    }

    /// Expects that an endpoint has received the log, in its order, and nothing wrong.
    func expectLog(_ log: DeliveryTally, at name: String) throws {
        let tally = try endpoint(name).tally
        #expect(tally.counts.distinct == log.counts.distinct && tally.order == log.order, "\(name): \(tally.counts)")
        // A notification that Apple sends again, because a node was killed, is written after later ones.
        #expect(tally.counts.orderViolations == log.counts.orderViolations, "\(name): \(tally.counts)")
        #expect(tally.counts.gaps == 0, "\(name): \(tally.counts)")
        #expect(tally.counts.unsigned == 0 && tally.counts.malformed == 0, "\(name): \(tally.counts)")
        #expect(tally.counts.elsewhere == 0, "\(name) was redirected")
    }

    /// Runs a command on events.
    func run(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.gateway.run(arguments, environment: fleet.settings)
    }
}

// MARK: - Pull

extension EventStage {
    /// Reads all events of a client by pages, and returns them as JSON.
    func pull(
        key: String? = nil, _ query: String = "", limit: Int = 1000, at node: Int = 0
    ) async throws -> [[String: Any]] {
        var events: [[String: Any]] = [], after = ""
        while true {
            let page = try await page(key: key, "limit=\(limit)" + after + query, at: node)
            try #require(page.status == 200, "\(String(decoding: page.body, as: UTF8.self))")
            let json = try page.json
            #expect((json["missed"] as? [Any])?.isEmpty == true)
            events += try #require(json["events"] as? [[String: Any]])
            let next = try #require(json["next"] as? String)
            after = "&after=" + (next.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? next)
            if json["has_more"] as? Bool != true { return events }
        }
    }

    func page(key: String? = nil, _ query: String, at node: Int = 0) async throws -> HTTPAnswer {
        let gateway = try fleet.nodes[node].running
        return try await gateway.get(
            "/v1/events?\(query)", port: gateway.dataPort, key: key ?? fleet.clients.key.text)
    }

    /// Returns the log as an endpoint would have received it.
    func log(at node: Int = 0) async throws -> DeliveryTally {
        try await pull(at: node).reduce(into: DeliveryTally()) { tally, event in
            let received = try #require(ReceivedEvent(Array(Data(json: event))))
            tally.accept(id: received.id, received, at: .now)
        }
    }

    /// Returns the stream of a node as text, of all events until now.
    func stream(at node: Int, for time: Duration) async throws -> String {
        let port = try fleet.nodes[node].running.dataPort
        let target = try LoadTarget("http://127.0.0.1:\(port)/v1/events")
        let fields = [
            HeaderField(name: "Accept", value: "text/event-stream"),
            HeaderField(name: "Authorization", value: "Bearer " + fleet.clients.key.text),
        ]
        let reply = try await Exchange(target: target, timeout: time).send(
            RequestForm.request("GET", target, fields, body: nil))
        return String(buffer: reply.bytes)
    }
}

// MARK: - Apple

extension EventStage {
    /// Posts a body to a node as Apple does.
    func post(_ body: [UInt8], at node: Int = 0) async throws {
        let answer = try await fleet.nodes[node].running.post(Data(body), to: "/apple/notifications")
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    }

    /// Returns the `signedPayload` of a new subscription.
    /// - Parameters:
    ///   - end: the end of its period.
    ///   - signedDate: the time at which Apple signs.
    func subscription(_ id: String, endingAt end: Timestamp, signedAt signedDate: Timestamp) -> String {
        var transaction = TransactionContents()
        (transaction.transactionID, transaction.originalTransactionID) = (id, id)
        (transaction.bundleID, transaction.environment) = (NotificationFleet.bundleID, "Production")
        transaction.productID = NotificationFleet.bundleID + ".monthly"
        transaction.purchaseDate = end.advanced(by: .seconds(-30 * 86_400))
        (transaction.originalPurchaseDate, transaction.expiresDate) = (transaction.purchaseDate, end)
        var renewal = RenewalInfoContents()
        (renewal.productID, renewal.autoRenewProductID) = (transaction.productID, transaction.productID)
        (renewal.autoRenewStatus, renewal.renewalDate) = (0, end)
        renewal.recentSubscriptionStartDate = transaction.purchaseDate
        var event = NotifiedEvent(
            "SUBSCRIBED", "INITIAL_BUY", about: transaction, renewalInfo: renewal, status: 1)
        (event.notificationUUID, event.signedDate) = (UUID().uuidString.lowercased(), signedDate)
        return String(decoding: event.jws(signedBy: fleet.transactionPKI), as: UTF8.self)
    }
}

// MARK: - Start and stop

extension EventStage {
    /// An endpoint of the clients file.
    struct Endpoint {
        var name: String
        var content = ReceiverEndpoint.Content.events
    }

    /// Runs a test with a fleet and endpoints, and stops all of it.
    /// - Parameters:
    ///   - added: endpoints that listen, and are not in the clients file.
    ///   - more: lines of further webhooks.
    ///   - options: directives of Redis.
    static func run(
        customers: Int, _ endpoints: [Endpoint], added: [Endpoint] = [], webhooks more: String = "",
        settings: [String: String] = [:], redis options: [String] = [], _ test: (EventStage) async throws -> Void
    ) async throws {
        let redis = try await RealServer.redis(options)
        defer { redis.kill() }
        let secrets = Dictionary(
            uniqueKeysWithValues: (endpoints + added).map { ($0.name, WebhookSecret.new()) })
        let plans = (endpoints + added).map { endpoint in
            ReceiverEndpoint.Plan(
                name: endpoint.name, keys: [WebhookVerifier(secrets[endpoint.name] ?? "")].compactMap(\.self),
                content: endpoint.content, keeps: keptDeliveries)
        }
        try await WebhookReceiver.start(.init(endpoints: plans)).whileRunning { receiver in
            let list = endpoints.map { lines(of: $0.name, receiver, secrets) }
            var parts = NotificationFleet.Parts(webhooks: "    webhooks:\n" + list.joined() + more)
            parts.settings = [
                "GATEWAY_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES": "true", "GATEWAY_WEBHOOKS_ALLOW_HTTP": "true",
                "GATEWAY_WEBHOOKS_TIMEOUT": Patience.limitSetting,
            ].merging(settings) { $1 }
            let url = "redis://127.0.0.1:\(redis.port)"
            try await NotificationFleet.run(redisURL: url, customers: customers, parts) { fleet in
                try await eventually("all queues have a position") {
                    try redis.ask("KEYS", "*:delivery:*").split(separator: "\n").count >= 8 * endpoints.count
                }
                try await test(EventStage(fleet: fleet, redis: redis, receiver: receiver, secrets: secrets))
            }
        }
    }

    private static func lines(
        of name: String, _ receiver: WebhookReceiver, _ secrets: [String: String]
    ) -> String {
        guard let endpoint = receiver[name], let secret = secrets[name] else { return "" }
        return """
                  - name: \(name)
                    url: \(receiver.url(of: endpoint))
                    stream: \(endpoint.plan.content.rawValue)
                    secrets: [\(secret)]

            """
    }

    /// Replaces the webhooks of the clients file, and waits until all nodes use it.
    func reload(_ names: [String]) async throws {
        let lines = names.map { Self.lines(of: $0, receiver, secrets) }
        try fleet.clients.write(webhooks: "    webhooks:\n" + lines.joined())
        for node in fleet.nodes {
            try node.running.hangUp()
            try await node.running.expect(successes: 1)
        }
    }
}
