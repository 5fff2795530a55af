// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// Two gateways that share a Redis, and a simulated Apple that sends them notifications through their load balancer.
struct NotificationFleet: Sendable {
    static let bundleID = SimulatedCustomers.bundleID

    let apple: AppleSimulator
    let nodes: [FleetNode]
    /// The settings of all gateways, also for commands.
    let settings: [String: String]
    /// The clients file of all gateways.
    let clients: ClientsFile
    /// Signs the notifications of Apple.
    let transactionPKI: TransactionPKI
    private let balancer: RealServer
    private let appleKey: ForgedAPIKey

    /// The parts of a fleet that differ between tests.
    struct Parts {
        /// Further settings of the gateways.
        var settings: [String: String] = [:]
        /// The lines of the client's webhooks, at the indentation of `keys:`.
        var webhooks = ""
    }

    /// A state of a customer's subscription.
    struct CustomerStatus: Hashable {
        let state: String
        let willRenew: Bool
    }

    // MARK: - Apple

    /// Sends notifications to another port and path from now on.
    func setURL(port: Int, _ path: String = "/apple/notifications") throws {
        try apple.setNotificationURL("http://127.0.0.1:\(port)\(path)", ofApp: Self.bundleID, at: .production)
    }

    /// Changes customers, and sends a notification about each.
    func notify(
        _ type: String, _ subtype: String? = nil, about customers: Range<Int>, copies: Int = 1, isDelivered: Bool = true
    ) throws {
        let subject = NotificationRequest.Subject.customers(
            first: Int64(customers.lowerBound), count: Int64(customers.count))
        var request = NotificationRequest(
            NotificationKind(type, subtype), about: subject, ofApp: Self.bundleID, at: .production)
        request.copies = copies
        request.isDelivered = isDelivered
        try apple.notify(request)
    }

    /// The counts of Apple's attempts to deliver notifications.
    var attempts: NotificationStats { apple.stats.notifications }

    /// True if Apple has an acknowledgement of every notification, or has given up.
    var isDelivered: Bool { attempts.pending == 0 && attempts.pendingRetries == 0 }

    /// Replaces the faults of Apple's interface; those of notifications are others.
    func play(_ faults: String...) throws {
        apple.play(try Scenario(yaml: "faults: [\(faults.joined(separator: ", "))]"))
    }

    /// The calls of verifications.
    var lookups: Int {
        apple.stats.serverApi.calls.values.flatMap { $0 }.filter { $0.key != "notification_history" }
            .flatMap(\.value.values).reduce(0, +)
    }

    private func callApple(_ path: String) async throws -> [String: Any] {
        let token = appleKey.token(bundleID: Self.bundleID, issuedAt: .now)
        let answer = try await HTTPCall("GET", url: apple.productionBaseURL + path, bearer: token).answer()
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try answer.json
    }

    /// Returns a customer's subscription as Apple signs it now, and as a device has it later.
    func evidence(of customer: Int) async throws -> String {
        let id = AppleSimulator.transactionID(ofCustomer: customer)
        let status = try await lastTransaction(of: id)
        return try #require(status["signedTransactionInfo"] as? String)
    }

    /// Returns the evidence of customers, by their numbers.
    func evidence(of customers: Range<Int>) async throws -> [Int: String] {
        var evidence: [Int: String] = [:]
        for customer in customers { evidence[customer] = try await self.evidence(of: customer) }
        return evidence
    }

    /// Returns the status of a customer at Apple.
    func status(of customer: Int) async throws -> CustomerStatus {
        let last = try await lastTransaction(of: AppleSimulator.transactionID(ofCustomer: customer))
        let renewal = try Self.claims(of: #require(last["signedRenewalInfo"] as? String))
        let states = ["active", "expired", "in_billing_retry", "in_grace_period", "revoked"]
        return CustomerStatus(
            state: states[try #require(last["status"] as? Int) - 1],
            willRenew: try #require(renewal["autoRenewStatus"] as? Int) == 1)
    }

    private func lastTransaction(of id: String) async throws -> [String: Any] {
        let groups = try await callApple("/inApps/v1/subscriptions/\(id)")["data"] as? [[String: Any]]
        let last = try #require(groups?.first?["lastTransactions"] as? [[String: Any]])
        return try #require(last.first)
    }

    private static func claims(of jws: String) throws -> [String: Any] {
        let part = try #require(jws.split(separator: ".").dropFirst().first)
        let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
        let data = try #require(Data(base64Encoded: base64 + padding))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}

// MARK: - Gateways

extension NotificationFleet {
    func verify(_ evidence: String, at node: Int) async throws -> Verdict {
        try await verify(["signed_transactions": [evidence]], at: node)
    }

    func verify(idOf customer: Int, at node: Int) async throws -> Verdict {
        let id = AppleSimulator.transactionID(ofCustomer: customer)
        return try await verify(["transaction_id": id, "bundle_id": Self.bundleID], at: node)
    }

    private func verify(_ body: [String: Any], at node: Int) async throws -> Verdict {
        let answer = try await nodes[node].running.post(body, key: clients.key.text)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try Verdict(answer.json)
    }

    /// Expects that every node answers with Apple's status of each customer, from notifications alone.
    func expectStatuses(_ evidence: [Int: String]) async throws {
        var statuses: [Int: CustomerStatus] = [:]
        for customer in evidence.keys { statuses[customer] = try await status(of: customer) }
        try play("{api: server_api, fault: {http_status: 503}}")
        var differences: [String] = []
        for node in nodes.indices {
            for (customer, text) in evidence {
                let verdict = try await verify(text, at: node)
                guard verdict.source != "notification" || verdict.status != statuses[customer] else { continue }
                differences.append("customer \(customer) at node \(node): \(verdict)")
            }
        }
        try play()
        #expect(differences.isEmpty, "\(differences.count) answers differ: \(differences.prefix(5))")
    }

    /// Returns the sum of a metric over all nodes.
    func sum(_ name: String, _ labels: [String: String] = [:]) async throws -> Double {
        var sum = 0.0
        for node in nodes { sum += try await node.sum(name, labels) }
        return sum
    }
}

extension Verdict {
    /// The status of the only subscription; nil for another number of them.
    fileprivate var status: NotificationFleet.CustomerStatus? {
        guard subscriptions.count == 1, let state = states.first else { return nil }
        return .init(state: state, willRenew: subscriptions[0]["renewal.will_renew"] == "true")
    }
}

// MARK: - Start and stop

extension NotificationFleet {
    /// Runs a test with a fleet, and stops all of it.
    /// - Parameter customers: the number of Apple's customers.
    static func run(
        redisURL: String, customers: Int, _ parts: Parts = Parts(), _ test: (NotificationFleet) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        var configuration = AppleSimulator.Configuration(pki: Sample.pki)
        configuration.hasServerAPIPorts = true
        // The first retry comes after 0.4 seconds, the second one 4 seconds later.
        configuration.notificationTimeScale = 0.0001
        try await withApple(configuration) { apple in
            try apple.addCustomers(customers, ofApp: bundleID, at: .production)
            let root = try folder.write(configuration.transactionPKI.root.pem, to: "jws-root.pem")
            var settings = settings(apple, root: root).merging(parts.settings) { $1 }
            let appleKey = ForgedAPIKey(seed: Sample.pki.seed)
            let clients = try await ClientsFile(appleKey, webhooks: parts.webhooks, in: folder)
            settings["GATEWAY_CLIENTS_FILE"] = clients.path
            settings["GATEWAY_REDIS_URL"] = redisURL
            let nodes = [try await FleetNode(settings), try await FleetNode(settings)]
            let balancer = try await RealServer.haproxy(before: nodes.map(\.backend))
            let fleet = NotificationFleet(
                apple: apple, nodes: nodes, settings: settings, clients: clients,
                transactionPKI: configuration.transactionPKI, balancer: balancer, appleKey: appleKey)
            try fleet.setURL(port: balancer.port)
            try await test(fleet)
            for node in nodes { #expect(await node.stop() == 0) }
            balancer.kill()
        }
    }

    private static func settings(_ apple: AppleSimulator, root: String) -> [String: String] {
        APIKey.pepper + FleetShape.settings(root: root, apple: apple, redisURL: nil, hasServerAPI: true) + [
            "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            // A busy machine must not look like a fault.
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
        ]
    }
}

/// The clients file of a fleet: one client with the app, and one with another app.
struct ClientsFile: Sendable {
    static let clientName = "shop-backend"
    static let strangersBundleID = "com.example.stranger"

    let key: APIKey
    /// The key of the client with the other app.
    let strangersKey: APIKey
    private let folder: ScratchFolder
    private let serverAPILines: String

    init(_ appleKey: ForgedAPIKey, webhooks: String, in folder: ScratchFolder) async throws {
        (key, strangersKey) = (try await APIKey(), try await APIKey())
        self.folder = folder
        serverAPILines = try APIKeyFile(appleKey, folder: folder.url.path).clientsFileLines
        try write(webhooks: webhooks)
    }

    var path: String { folder.url.appending(path: "clients.yaml").path }

    /// Replaces the file.
    /// - Parameter webhooks: the lines of the client's webhooks, at the indentation of `keys:`.
    func write(webhooks: String) throws {
        let client =
            "  - name: \(Self.clientName)\n    apps: [\(NotificationFleet.bundleID)]\n" + webhooks + "    keys:\n"
            + key.lines
        let stranger =
            "  - name: stranger\n    apps: [\(Self.strangersBundleID)]\n    keys:\n" + strangersKey.lines
        try folder.replace("clients.yaml", with: "clients:\n" + client + stranger + serverAPILines)
    }
}

// MARK: - Redis

extension [RealServer] {
    /// Returns the number of customers with a signed state.
    func customerStates() throws -> Int { try keys("*:state:*").count }

    /// Returns the number of notifications that were ever stored.
    func storedNotifications() throws -> Int { try sum("ZCARD", of: "*:seen") }

    /// Returns the number of notifications that are not applied yet.
    func pendingNotifications() throws -> Int { try sum("XLEN", of: "*:pending") }

    private func sum(_ command: String, of pattern: String) throws -> Int {
        var sum = 0
        for (server, key) in try keys(pattern) { sum += Int(try server.ask(command, key)) ?? 0 }
        return sum
    }

    private func keys(_ pattern: String) throws -> [(server: RealServer, key: String)] {
        try flatMap { server in
            try server.ask("KEYS", "gw:{n:" + pattern).split(separator: "\n").map { (server, String($0)) }
        }
    }
}
