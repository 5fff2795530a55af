// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

extension Bench {
    /// Measures receipts that no cache knows, over HTTP, beside the ceiling and the cryptography together; over many
    /// connections and over few.
    func measureLocal() async throws {
        let pool = await factory.fresh(plan.distinctReceipts) { _ in }
        let source = TrafficSource.only(.fresh, ReceiptPools(fresh: pool))
        let floor = try floor(of: .receipts(pki), purchases: factory.purchases)
        // A near cache that holds far fewer than come between two requests with the same receipt.
        try await withGateway(["GATEWAY_CACHE_NEAR_SIZE": "512KiB"]) { gateway, group in
            let warm = try await turn(gateway, source, seconds: plan.warmupSeconds)
            let nio = try await startBareHandler(answerBytes: warm.answerBytes, in: group)
            try await turn(nio, repeatedTraffic, seconds: plan.warmupSeconds)
            let counts = [BenchPlan.manyConnections, BenchPlan.fewConnections]
            let loads = counts.flatMap { connections in
                [
                    BenchLoad(server: gateway.over(connections), source: source, outcome: .local),
                    BenchLoad(server: nio.over(connections), source: repeatedTraffic),
                ]
            }
            try await eachRun { run in
                var floors: [Int: Double] = [:]
                let turns = try await turns(of: loads, in: run) { load in
                    if load.server.name == .gateway {
                        floors[load.server.connections] = try floor.receiptsPerSecond(of: .floor)
                    }
                    return try await turn(load)
                }
                return counts.enumerated().flatMap { number, connections in
                    Self.figures(turns[2 * number], beside: turns[2 * number + 1], floor: floors[connections] ?? .nan)
                }
            }
        }
    }

    /// Returns the measurement of the cryptography alone.
    func floor(of authority: SampleAuthority, purchases: Int = 1) throws -> Slice {
        let bench = try TestBench(authority)
        let samples = try SampleReceipts(
            count: Self.floorReceipts, purchases: purchases, signedBy: bench.authority, seed: 1)
        return Slice(bench: bench, samples: samples, duration: .seconds(1))
    }

    private static let floorReceipts = 64

    /// Returns the figures of a run.
    /// - Parameter floor: the receipts that the cryptography alone allows in a second.
    static func figures(_ gateway: BenchTurn, beside nio: BenchTurn, floor: Double) -> [FigureSample] {
        let load = "over \(gateway.connections) connections"
        let name = "local verification of distinct receipts, \(load)"
        return [
            .init(
                "\(name) / (1 / (1/ceiling + crypto floor))", share(of: gateway, beside: nio, floor: floor), "ratio",
                .atLeast(gateway.connections == BenchPlan.fewConnections ? 0.62 : 0.64)),
            .init("CPU of the gateway for \(name)", gateway.microsecondsPerRequest, "us"),
            .init("crypto floor of the same receipts, \(load)", floor, "/s"),
        ]
    }

    /// Returns the share of what is possible: a request that passes the bare handler and the cryptography takes both times.
    static func share(of gateway: BenchTurn, beside nio: BenchTurn, floor: Double) -> Double {
        gateway.requestsPerBusySecond * (1 / nio.requestsPerBusySecond + 1 / floor)
    }

    /// Measures bytes to verified evidence in this process: a known chain, three purchases in an app receipt.
    func measureVerify() async throws {
        let kinds: [(ForgedEvidenceKind, subject: String, purchases: Int, FigureTarget?)] = [
            (.receipt, "", 3, .atLeast(0.85)), (.jws, " of signed transactions", 1, .atLeast(0.85)),
            (.transactionReceipt, " of transaction receipts", 1, nil), (.notification, " of notifications", 1, nil),
        ]
        for (evidence, subject, purchases, target) in kinds {
            let row = try await verify(evidence, purchases: purchases), name = "parse-and-verify\(subject) in process"
            let size = purchases > 1 ? ", \(purchases) purchases" : ""
            report.add("\(name), warm\(size) / crypto floor", row.ratioToFloor, "ratio", target)
            report.add(name, row.receiptsPerSecond, "/s")
            if evidence == .jws, let ratio = row.ratioToChainWalk {
                report.add("\(name) / chain walked each time", ratio, "ratio")
            }
        }
    }

    /// Returns the row of a warm chain and one thread.
    private func verify(_ evidence: ForgedEvidenceKind, purchases: Int) async throws -> VerifyCase {
        try await cores.useGenerators()
        let plan = VerifyPlan(
            evidence: evidence, purchases: [purchases], threads: [1],
            duration: .seconds(Double(plan.runs) * plan.seconds / 5))
        let cases = try plan.run().cases
        try await cores.useAll()
        // The first row has the warm chain.
        return cases[0]
    }

    /// Measures the time from the beginning of a process to its first verdict.
    func measureStart() async throws {
        // The first start reads the program from the disk.
        _ = try await coldStart()
        try await eachRun { _ in
            [.init("cold start to the first verified receipt", try await coldStart(), "ms", .atMost(100))]
        }
    }

    private func coldStart() async throws -> Double {
        let gateway = try await RunningGateway.start(gatewayPath, localSettings, core: cores.server, isAwaited: false)
        return try await gateway.whileRunning { gateway in
            let target = LoadTarget.loopback(gateway.dataPort)
            let waited = try await LongRun.wait(atMost: Self.longestStart, every: .milliseconds(1)) {
                let reply = try? await Exchange(target: target).send(repeated[0].bytes)
                return reply?.answer?.outcome == .local
            }
            let took = ContinuousClock.now - gateway.program.startedAt
            guard waited != nil else { throw BenchError.noStart }
            return took.milliseconds
        }
    }

    private static let longestStart = Duration.seconds(60)
}
