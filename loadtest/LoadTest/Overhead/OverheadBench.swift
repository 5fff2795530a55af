// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A gateway without caches, an Apple that answers at once in a process of its own, and the load.
struct OverheadBench: Sendable {
    let plan: OverheadPlan
    private let gateway: RunningGateway
    private let requests: [VerifyMode: [PreparedRequest]]

    /// Answers at once: a latest receipt is signed once and given out for an hour.
    private static let scenario = "reissue_seconds: 3600\nstories: {default: renewed}\n"

    /// Starts everything, runs the body, and ends everything.
    static func with<Value: Sendable>(
        _ plan: OverheadPlan, gatewayPath: String, _ body: (OverheadBench) async throws -> Value
    ) async throws -> Value {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        // The authority that the simulator has by itself.
        let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
        let root = try folder.write(pki.rootPEM, to: "root.pem")
        let receipts = mint(plan.receipts, signedBy: pki)
        let apple = try await RunningSimulator.start(scenario: try folder.write(scenario, to: "scenario.yaml"))
        return try await apple.whileRunning { try await with(plan, gatewayPath, $0, root: root, receipts, body) }
    }

    private static func with<Value: Sendable>(
        _ plan: OverheadPlan, _ gatewayPath: String, _ apple: RunningSimulator, root: String, _ receipts: [String],
        _ body: (OverheadBench) async throws -> Value
    ) async throws -> Value {
        let configuration = RunningGateway.configuration(
            root: root, productionURL: apple.productionURL, sandboxURL: apple.sandboxURL)
        // Each request is worked out.
        let noCaches = ["GATEWAY_CACHE_NEAR_SIZE": "0B", "GATEWAY_CACHE_APPLE_SIZE": "0B"]
        let gateway = try await RunningGateway.start(gatewayPath, configuration.merging(noCaches) { $1 })
        let requests = Dictionary(
            uniqueKeysWithValues: OverheadPlan.modes.map { mode in
                (mode, receipts.map { PreparedRequest.verify($0, mode: mode) })
            })
        return try await gateway.whileRunning {
            try await body(OverheadBench(plan: plan, gateway: $0, requests: requests))
        }
    }

    private static func mint(_ count: Int, signedBy pki: ForgedPKI) -> [String] {
        let progress = ProgressLine(unit: "receipts", total: count)
        defer { progress.finish() }
        return ProductionReceipts.mint(count, signedBy: pki, seed: 1, minted: progress.update)
    }
}

extension OverheadBench {
    /// Asks about each receipt once in each mode, so that every part has done everything once.
    func warmUp() async throws {
        for mode in OverheadPlan.modes {
            let schedule = Schedule(.steady(perSecond: 1e6, count: plan.receipts), start: .now)
            let load = await drive(schedule, mode)
            guard load.failures == 0 else {
                throw OverheadError.failures(mode, count: load.failures, of: plan.receipts)
            }
        }
    }

    /// One mode for one turn.
    func turn(_ mode: VerifyMode) async throws -> OverheadTurn {
        let before = try await reading()
        let start = ContinuousClock.now
        let load = await drive(Schedule(.eager(plan.turn), start: start), mode)
        let took = ContinuousClock.now - start
        try Task.checkCancellation()
        return try OverheadTurn(mode, load, took: took, before, try await reading())
    }

    /// Keeps the load of mode `apple` up and looks at the memory.
    ///
    /// - Parameter onSample: told each look as it is taken.
    func watchMemory(minutes: Double, onSample: (MemoryPoint) -> Void) async throws -> MemoryTrend {
        try await withThrowingTaskGroup { group in
            let start = ContinuousClock.now
            group.addTask { await drive(Schedule(.eager(.seconds(60 * minutes)), start: start), .apple) }
            var points: [MemoryPoint] = []
            for number in 0...Int((.seconds(60 * minutes) / plan.memoryInterval).rounded()) {
                try await Task.sleep(until: start + plan.memoryInterval * number)
                let point = MemoryPoint(
                    seconds: (ContinuousClock.now - start).seconds.rounded(toDecimals: 1),
                    residentBytes: try await reading().residentBytes)
                points.append(point)
                onSample(point)
            }
            for try await load in group where load.failures > 0 {
                throw OverheadError.failures(.apple, count: load.failures, of: load.latencies.count)
            }
            return MemoryTrend(points)
        }
    }

    private func reading() async throws(DriveError) -> ProcessReading {
        ProcessReading(try await Scrape.of(adminPort: gateway.adminPort))
    }

    private func drive(_ schedule: Schedule, _ mode: VerifyMode) async -> LoadResult {
        let result = SharedLoadResult()
        let requests = requests[mode, default: []]
        await LoadDriver(port: gateway.dataPort, connections: plan.connections).run(schedule) { turn in
            requests[turn % requests.count]
        } record: {
            result.record($0)
        }
        return result.result
    }
}
