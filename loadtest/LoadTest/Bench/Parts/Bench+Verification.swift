// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

extension Bench {
    /// Measures receipts that no cache knows, over HTTP, beside the ceiling and the cryptography together; over many
    /// connections and over few.
    func measureLocal() async throws {
        let pool = await factory.fresh(plan.distinctReceipts) { _ in }
        let source = TrafficSource.only(.fresh, ReceiptPools(fresh: pool))
        let floor = try floor()
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
            var floors: [Int: Rates] = [:]
            let turns = try await takeTurns(loads) { load in
                if load.server.name == .gateway {
                    floors[load.server.connections, default: []].append(
                        try floor.receiptsPerSecond(of: Entrant(implementation: .floor, threads: 1)))
                }
                return try await turn(load)
            }
            for (number, connections) in counts.enumerated() {
                let (gateway, nio) = (turns[2 * number].perBusySecond, turns[2 * number + 1].perBusySecond)
                add(gateway, beside: nio, floors[connections] ?? [], "over \(connections) connections")
            }
        }
    }

    private func floor() throws -> Slice {
        let bench = try TestBench(.receipts(pki))
        let samples = try SampleReceipts(
            count: Self.floorReceipts, purchases: factory.purchases, signedBy: bench.authority, seed: 1)
        return Slice(bench: bench, samples: samples, duration: .seconds(1))
    }

    private static let floorReceipts = 64

    private func add(_ gateway: Rates, beside nio: Rates, _ floors: Rates, _ load: String) {
        let physical = nio.combined(with: floors)
        let name = "local verification of distinct receipts, \(load)"
        report.add(
            "\(name) / (1 / (1/ceiling + crypto floor))", gateway.ratio(to: physical), "ratio",
            .atLeast(0.7))
        report.add("CPU of the gateway for \(name)", 1e6 / gateway.median, "us")
        report.add("crypto floor of the same receipts, \(load)", floors.median, "/s")
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
        let cases = try VerifyBenchmark(plan: plan).run().cases
        try await cores.useAll()
        // The first row has the warm chain.
        return cases[0]
    }
}

extension Rates {
    /// Returns the rates of requests that pass both: the times add up, run by run.
    func combined(with other: Rates) -> Rates { zip(self, other).map { 1 / (1 / $0 + 1 / $1) } }
}

extension Bench {
    /// Measures the time from the beginning of a process to its first verdict.
    func measureStart() async throws {
        var times = Rates()
        // The first run reads the program from the disk.
        for run in 0...plan.runs {
            let milliseconds = try await coldStart()
            if run > 0 { times.append(milliseconds) }
        }
        report.add("cold start to the first verified receipt", times.median, "ms", .atMost(100))
    }

    private func coldStart() async throws -> Double {
        let gateway = try await RunningGateway.launch(gatewayPath, localSettings, core: cores.server)
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
