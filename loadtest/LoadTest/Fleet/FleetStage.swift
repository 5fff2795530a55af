// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// What all measured fleets have in common: Apple, Redis, receipts and a client.
struct FleetStage: Sendable {
    let plan: FleetPlan
    let redis: RunningRedis
    private let gatewayPath: String
    private let apple: RunningSimulator
    private let root: String
    private let receipts: [String]
    private let folder: ScratchFolder

    private static let scenario = "reissue_seconds: 3600\nstories: {default: renewed}\n"
    private static let pepper = ["GATEWAY_API_KEY_PEPPER": "a pepper of at least thirty-two bytes"]

    /// Starts Apple and Redis, runs the body, and ends both.
    static func with<Value: Sendable>(
        _ plan: FleetPlan, gatewayPath: String, _ body: (FleetStage) async throws -> Value
    ) async throws -> Value {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
        let receipts = ProductionReceipts.mint(plan.receipts, signedBy: pki, seed: 1) { _ in }
        let root = try folder.write(pki.rootPEM, to: "root.pem")
        let apple = try await RunningSimulator.start(scenario: try folder.write(scenario, to: "scenario.yaml"))
        return try await apple.whileRunning { apple in
            try await RunningRedis.start().whileRunning { redis in
                try await body(
                    FleetStage(
                        plan: plan, redis: redis, gatewayPath: gatewayPath, apple: apple, root: root,
                        receipts: receipts, folder: folder))
            }
        }
    }

    /// Starts gateways around an empty Redis, runs the body, and ends them.
    ///
    /// - Parameter nearCaches: of each gateway, whether it keeps answers in its own memory.
    func fleet<Value: Sendable>(
        nearCaches: [Bool], _ leases: FleetPlan.Leases, _ body: (MeasuredFleet) async throws -> Value
    ) async throws -> Value {
        try await redis.ask(["flushall"])
        let (settings, key) = try await access(leases)
        var gateways: [RunningGateway] = []
        do {
            for isNear in nearCaches {
                let cache = isNear ? [:] : ["GATEWAY_CACHE_NEAR_SIZE": "0B"]
                gateways.append(try await RunningGateway.start(gatewayPath, settings.merging(cache) { $1 }))
            }
            let requests = receipts.map { PreparedRequest.verify($0, mode: .auto, key: key) }
            let value = try await body(
                MeasuredFleet(
                    gateways: gateways, redis: redis, requests: requests, connections: plan.connections))
            for gateway in gateways { await gateway.stop() }
            return value
        } catch {
            for gateway in gateways { await gateway.stop() }
            throw error
        }
    }

    /// What gateways are told, and what the client sends.
    private func access(_ leases: FleetPlan.Leases) async throws -> ([String: String], key: String) {
        let made = try await FinishedProgram.run(gatewayPath, ["hash-key"], environment: Self.pepper)
        guard made.status == 0, let key = made.errors.split(whereSeparator: \.isWhitespace).last else {
            throw made.status == 127 ? ProgramError.notStarted(path: gatewayPath) : FleetError.noKey(said: made.errors)
        }
        let clients = "clients:\n  - name: loadtest\n    apps: \"*\"\n\(leases.limits)    keys:\n\(made.output)\n"
        let configuration = RunningGateway.configuration(
            root: root, productionURL: apple.productionURL, sandboxURL: apple.sandboxURL)
        let fleet = [
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)",
            // Any will do: 32 bytes in base64.
            "GATEWAY_CACHE_KEYS": "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "GATEWAY_CLIENTS_FILE": try folder.write(clients, to: "clients-\(leases.rawValue).yaml"),
        ]
        return (configuration.merging(fleet) { $1 }.merging(Self.pepper) { $1 }, String(key))
    }
}
