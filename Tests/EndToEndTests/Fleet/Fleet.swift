// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing

/// Gateways that share a store, the load balancer in front of them, and the simulator they take for Apple.
struct Fleet: Sendable {
    let apple: AppleSimulator
    let nodes: [FleetNode]
    let balancer: RealServer
    /// By name.
    let clients: [String: FleetClients.Client]

    /// How a fleet is set up.
    struct Plan {
        /// Where the store is.
        var redisURL: String
        var nodes = 3
        /// What all gateways are told beside the usual.
        var settings: [String: String] = [:]
        /// What only the first is told.
        var settingsOfFirst: [String: String] = [:]
        /// Clients with their policies; nobody is asked for a key if there are none.
        var clients: [(name: String, policies: String)] = []
        /// What Apple does.
        var scenario = ""
        /// Gateways that somebody else runs.
        var guests: [RealServer.Backend] = []
    }

    /// Seals and names what the tests keep in Redis.
    static let cacheKeys = "k1:" + Data((0..<32).map { UInt8($0 * 7 + 1) }).base64EncodedString()

    /// Asks one node. Every answer but a refusal for the sake of a limit must be 200, whatever happens to the store.
    func verify(
        _ receipt: String, at node: Int, _ more: [String: Any] = [:], as client: String? = nil
    ) async throws -> Verdict {
        let answer = try await nodes[node].running.verify(receipt, more, key: client.flatMap { clients[$0]?.key })
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try Verdict(answer.json)
    }

    /// The API key of a client of the plan.
    func key(of client: String) -> String? { clients[client]?.key }

    /// The sum of a metric over all nodes.
    func sum(_ name: String, _ labels: [String: String] = [:]) async throws -> Double {
        var sum = 0.0
        for node in nodes { sum += try await node.sum(name, labels) }
        return sum
    }

    /// Whether what one node learns every other node knows: each asks in its turn about a receipt that the one before it
    /// may have been the first to see, and only the first may ask Apple.
    func isWhole(_ number: Int, as client: String? = nil) async throws -> Bool {
        let receipt = Sample.receipt(number)
        for (place, node) in nodes.indices.enumerated() {
            let verdict = try await verify(receipt, at: node, as: client)
            guard verdict.isApples, place == 0 || verdict.cache == "shared" else { return false }
        }
        return true
    }

    /// Whether each node knows how many there are, and would take no more than its share if the store failed.
    func knowsItself() async throws -> Bool {
        for node in nodes where try await node.sum("fleet_live_nodes") != Double(nodes.count) { return false }
        return true
    }
}

/// Runs a test with a fleet, and ends all of it.
func withFleet(_ plan: Fleet.Plan, _ test: (Fleet) async throws -> Void) async throws {
    let folder = try ScratchFolder()
    let clients = plan.clients.isEmpty ? nil : try await FleetClients(plan.clients, in: folder)
    var configuration = AppleSimulator.Configuration(pki: Sample.pki)
    configuration.scenario = try Scenario(yaml: plan.scenario)
    let apple = try await AppleSimulator.start(configuration)
    do {
        let usual = [
            "GATEWAY_APPLE_PRODUCTION_URL": apple.productionURL, "GATEWAY_APPLE_SANDBOX_URL": apple.sandboxURL,
            "GATEWAY_APPLE_SHARED_SECRET": Sample.secret,
            "GATEWAY_TRUST_ROOTS": try folder.write(Sample.pki.rootPEM, to: "root.pem") + "=Sandbox+Production",
            "GATEWAY_REDIS_URL": plan.redisURL, "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
        ]
        let settings = usual.merging(clients?.settings ?? [:]) { $1 }.merging(plan.settings) { $1 }
        try await withNodes(settings, apple, plan, clients?.clients ?? [], test)
        await apple.stop()
    } catch {
        await apple.stop()
        throw error
    }
}

private func withNodes(
    _ settings: [String: String], _ apple: AppleSimulator, _ plan: Fleet.Plan, _ clients: [FleetClients.Client],
    _ test: (Fleet) async throws -> Void
) async throws {
    var nodes: [FleetNode] = []
    for number in 0..<plan.nodes {
        nodes.append(try await FleetNode(number == 0 ? settings.merging(plan.settingsOfFirst) { $1 } : settings))
    }
    let balancer = try await RealServer.haproxy(before: nodes.map(\.backend) + plan.guests)
    let fleet = Fleet(
        apple: apple, nodes: nodes, balancer: balancer,
        clients: Dictionary(uniqueKeysWithValues: clients.map { ($0.name, $0) }))
    try await test(fleet)
    // Whatever happened to the store, gateways live, and end when they are told to.
    for node in nodes {
        let status = await node.stop()
        #expect(status == 0)
    }
    balancer.kill()
}
