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
            try await eachRun { _ in
                // Each answer is computed once: other answers have expired meanwhile.
                try await turn(gateway, source, requests: count)
                let customers = "with \(count.grouped) \(count > 1 ? "customers" : "customer")"
                return [try await cost(of: gateway, source, customers)]
            }
        }
    }

    /// Measures the gateway beside a bare handler, whose connections cost the kernel as much.
    private func measureConnectionCounts(_ gateway: BenchServer, beside ceiling: BenchServer) async throws {
        for count in tenfold(from: 10, to: plan.idleConnections) {
            let name = "over \(count.grouped) connections"
            try await eachRun { _ in
                let bare = try await turn(ceiling.over(count), repeatedTraffic, seconds: plan.seconds)
                try await turn(gateway, repeatedTraffic, seconds: BenchPlan.refreshSeconds)
                return [
                    try await cost(of: gateway.over(count), repeatedTraffic, name),
                    .init("CPU of the bare SwiftNIO handler \(name)", bare.microsecondsPerRequest, "us"),
                ]
            }
        }
    }

    /// Measures a gateway with an event loop on each of two cores. The generator shares them.
    private func measureEventLoops() async throws {
        guard cores.all.count > 1 else { return }
        try await eachRun { _ in
            let alone = try await withGateway { gateway, _ in
                try await saturation(of: gateway).requestsPerBusySecond
            }
            let both = try await RunningGateway.start(gatewayPath, localSettings).whileRunning { gateway in
                try await saturation(of: BenchServer(gateway)).requestsPerBusySecond
            }
            return [
                .init(
                    "near-cache hits of two event loops on two cores / of one, per processor time x 2",
                    2 * both / alone, "ratio", .atLeast(1.9))
            ]
        }
    }

    private func cost(of gateway: BenchServer, _ source: TrafficSource, _ name: String) async throws -> FigureSample {
        let turn = try await turn(BenchLoad(server: gateway, source: source, outcome: .hitNear))
        return FigureSample("CPU of a near-cache hit \(name)", turn.microsecondsPerRequest, "us")
    }

    /// Returns the first number and its tenfold, again and again, up to the last number.
    private func tenfold(from first: Int, to last: Int) -> [Int] {
        Array(sequence(first: first) { $0 < last ? min(last, $0 * 10) : nil })
    }
}
