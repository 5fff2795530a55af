// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing

@testable import LoadTest

/// Gateways that share a store, their load balancer, and a simulated Apple.
struct Fleet: Sendable {
    let apple: AppleSimulator
    let nodes: [FleetNode]
    let balancer: RealServer
    /// The API keys by the names of the clients.
    let keys: [String: String]

    /// The setup of a fleet.
    struct Plan {
        var redisURL: String
        var nodes = 3
        /// The additional settings of all gateways.
        var settings: [String: String] = [:]
        /// The additional settings of the first gateway.
        var settingsOfFirst: [String: String] = [:]
        /// The clients with their policies; without any, no key is required.
        var clients: [(name: String, policies: String)] = []
        /// The scenario of the simulated Apple.
        var scenario = ""
        /// Further gateways behind the load balancer.
        var guests: [RealServer.Backend] = []
    }

    /// The keys that encrypt and name the tests' entries in Redis.
    static let cacheKeys = "k1:" + Data((0..<32).map { UInt8($0 * 7 + 1) }).base64EncodedString()

    /// Sends a receipt to one node. Every answer except a rate limit must be 200, in every state of the store.
    func verify(
        _ receipt: String, at node: Int, _ more: [String: Any] = [:], as client: String? = nil
    ) async throws -> Verdict {
        let answer = try await nodes[node].running.verify(receipt, more, key: client.flatMap { keys[$0] })
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try Verdict(answer.json)
    }

    /// The API key of a client of the plan.
    func key(of client: String) -> String? { keys[client] }

    /// Returns the sum of a metric over all nodes.
    func sum(_ name: String, _ labels: [String: String] = [:]) async throws -> Double {
        var sum = 0.0
        for node in nodes { sum += try await node.sum(name, labels) }
        return sum
    }

    /// Returns true if every node knows the results of the others: each in turn receives the same new receipt, and only
    /// the first may send it to Apple.
    func isWhole(_ number: Int, as client: String? = nil) async throws -> Bool {
        let receipt = Sample.receipt(number)
        for (place, node) in nodes.indices.enumerated() {
            let verdict = try await verify(receipt, at: node, as: client)
            guard verdict.isApples, place == 0 || verdict.cache == "shared" else { return false }
        }
        return true
    }

    /// Returns true if each node knows the number of nodes, and so its share if the store fails.
    func knowsItself() async throws -> Bool {
        for node in nodes where try await node.sum("fleet_live_nodes") != Double(nodes.count) { return false }
        return true
    }
}

/// Runs a test with a fleet, and stops all of it.
func withFleet(_ plan: Fleet.Plan, _ test: (Fleet) async throws -> Void) async throws {
    let folder = try ScratchFolder()
    let clients = plan.clients.isEmpty ? nil : try await FleetClients(plan.clients, in: folder)
    var configuration = AppleSimulator.Configuration(pki: Sample.pki)
    configuration.scenario = try Scenario(yaml: plan.scenario)
    try await withApple(configuration) { apple in
        let root = try folder.write(Sample.pki.rootPEM, to: "root.pem")
        var settings = FleetShape.settings(root: root, apple: apple, redisURL: plan.redisURL)
        settings += ["GATEWAY_APPLE_SHARED_SECRET": Sample.secret, "GATEWAY_CACHE_KEYS": Fleet.cacheKeys]
        settings += (clients?.settings ?? [:]) + plan.settings
        try await withNodes(settings, apple, plan, clients?.keys ?? [:], test)
    }
}

private func withNodes(
    _ settings: [String: String], _ apple: AppleSimulator, _ plan: Fleet.Plan, _ keys: [String: String],
    _ test: (Fleet) async throws -> Void
) async throws {
    var nodes: [FleetNode] = []
    for number in 0..<plan.nodes {
        nodes.append(try await FleetNode(number == 0 ? settings + plan.settingsOfFirst : settings))
    }
    let balancer = try await RealServer.haproxy(before: nodes.map(\.backend) + plan.guests)
    let fleet = Fleet(apple: apple, nodes: nodes, balancer: balancer, keys: keys)
    try await test(fleet)
    // Gateways survive every fault of the store, and stop on request.
    for node in nodes {
        let status = await node.stop()
        #expect(status == 0)
    }
    balancer.kill()
}

extension FleetClients {
    /// Clients whose file lies in this folder.
    init(_ policies: [(name: String, policies: String)], in folder: ScratchFolder) async throws {
        let file = folder.url.appending(path: "clients.yaml").path
        try await self.init(policies, gatewayPath: Program.gateway.url.path, file: file)
    }
}
