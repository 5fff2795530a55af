// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures the processor time of a near-cache hit by the number of customers, of connections, and of event loops. The
    /// near cache is large enough for all of the customers.
    func measureScale() async throws {
        let pool = await factory.fresh(plan.scaleCustomers) { _ in }
        try OpenFiles.makeRoom(for: plan.idleConnections)
        try await withGateway(connectionLimits + ["GATEWAY_CACHE_NEAR_SIZE": "1GiB"]) { gateway, group in
            try await measureCustomers(gateway, pool)
            let answerBytes = try await saturation(of: gateway).answerBytes
            let ceiling = try await startBareHandler(answerBytes: answerBytes, in: group)
            try await measureConnectionCounts(gateway, beside: ceiling)
        }
        try await measureEventLoops()
    }

    private func measureCustomers(_ gateway: BenchServer, _ pool: [PooledRequest]) async throws {
        for count in tenfold(from: 1, to: pool.count) {
            let source = TrafficSource.only(.fresh, ReceiptPools(fresh: Array(pool.prefix(count))))
            let load = BenchLoad(server: gateway, source: source, outcome: .hitNear)
            try await addCost(of: load, "with \(count.grouped) \(count > 1 ? "customers" : "customer")") {
                // Each answer is computed once: other answers have expired meanwhile.
                try await turn(gateway, source, requests: count)
            }
        }
    }

    /// Measures the gateway beside a bare handler, whose connections cost the kernel as much.
    private func measureConnectionCounts(_ gateway: BenchServer, beside ceiling: BenchServer) async throws {
        for count in tenfold(from: 10, to: plan.idleConnections) {
            let name = "over \(count.grouped) connections"
            var bare = Rates()
            let load = BenchLoad(server: gateway.over(count), source: repeatedTraffic, outcome: .hitNear)
            try await addCost(of: load, name) {
                let turn = try await turn(ceiling.over(count), repeatedTraffic, seconds: plan.seconds)
                bare.append(turn.requestsPerBusySecond)
                try await self.turn(gateway, repeatedTraffic, seconds: BenchPlan.refreshSeconds)
            }
            report.add("CPU of the bare SwiftNIO handler \(name)", 1e6 / bare.median, "us")
        }
    }

    /// Measures a gateway with an event loop on each of two cores. The generator shares them.
    private func measureEventLoops() async throws {
        guard cores.all.count > 1 else { return }
        var alone = Rates(), both = Rates()
        for _ in 0..<plan.runs {
            try await withGateway { gateway, _ in alone.append(try await saturation(of: gateway).requestsPerBusySecond)
            }
            try await ProgramGroup().whileRunning { group in
                let gateway = try await group.add(RunningGateway.start(gatewayPath, localSettings))
                both.append(try await saturation(of: BenchServer(gateway)).requestsPerBusySecond)
            }
        }
        report.add(
            "near-cache hits of two event loops on two cores / of one, per processor time x 2",
            2 * both.ratio(to: alone),
            "ratio", .atLeast(1.9))
    }

    /// Reports the processor time of a hit.
    /// - Parameter warm: fills the near cache before each run.
    private func addCost(of load: BenchLoad, _ name: String, after warm: () async throws -> Void) async throws {
        let turns = try await takeTurns([load]) { load in
            try await warm()
            return try await turn(load)
        }
        report.add("CPU of a near-cache hit \(name)", 1e6 / turns[0].perBusySecond.median, "us")
    }

    /// Returns the first number and its tenfold, again and again, up to the last number.
    private func tenfold(from first: Int, to last: Int) -> [Int] {
        Array(sequence(first: first) { $0 < last ? min(last, $0 * 10) : nil })
    }
}
