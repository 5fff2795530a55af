// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures p99 at half of saturation for the gateway and for a bare handler, whose wait no gateway can avoid.
    func measureTail() async throws {
        try await withGateway { gateway, group in
            let saturation = try await saturation(of: gateway)
            let answerBytes = saturation.answerBytes, rate = saturation.requestsPerSecond / 2
            let ceiling = try await startBareHandler(answerBytes: answerBytes, in: group)
            try await eachRun { _ in
                let ours = try await open(gateway, rate: rate), bare = try await open(ceiling, rate: rate)
                return Self.figures(ours, beside: bare, rate: rate)
            }
        }
    }

    private func open(_ server: BenchServer, rate: Double) async throws -> LoadMeasurements {
        // Restores what expired while the other server had its turn.
        try await turn(server, repeatedTraffic, seconds: BenchPlan.refreshSeconds)
        return try await drive(openPlan(for: server.port, rate: rate, seconds: plan.seconds), repeatedTraffic)
    }

    private static func figures(
        _ ours: LoadMeasurements, beside bare: LoadMeasurements, rate: Double
    ) -> [FigureSample] {
        let late = max(ours.lateShare, bare.lateShare)
        let lateness =
            late > GeneratorLimits().maximumLateShare
            ? "the generator sent \((100 * late).fixed(1)) % of the requests late, which counts as waiting" : nil
        return [
            .init("p99 / p50 at half of saturation", ours.p99 / ours.p50, "ratio", .atMost(3), note: lateness),
            .init("p99 at half of saturation", ours.p99, "ms", .atMost(2)),
            .init("half of saturation", rate, "/s"),
            .init("p50 at half of saturation", ours.p50, "ms"),
            .init("p50 of the bare SwiftNIO handler at this rate", bare.p50, "ms"),
            .init("p99 of the bare SwiftNIO handler at this rate", bare.p99, "ms"),
            .init("p99 / p50 of the bare SwiftNIO handler at this rate", bare.p99 / bare.p50, "ratio"),
            .init("p99 at half of saturation / bare SwiftNIO handler", ours.p99 / bare.p99, "ratio", .atMost(1.5)),
        ]
    }

    /// Measures the near-cache hits of a warm gateway in a second.
    func saturation(of gateway: BenchServer) async throws -> BenchTurn {
        try await turn(gateway, repeatedTraffic, seconds: plan.warmupSeconds)
        return try await turn(BenchLoad(server: gateway, source: repeatedTraffic, outcome: .hitNear))
    }

    /// Measures a thousand genuine requests a second, alone and beside twice as many forged requests as can be
    /// rejected.
    func measureFlood() async throws {
        try await withGateway { server, _ in
            let flood = TrafficSource.only(.forged, ReceiptPools(repeated: repeated))
            try await turn(server, repeatedTraffic, seconds: plan.warmupSeconds)
            let refused = try await turn(server, flood, seconds: plan.seconds).requestsPerSecond
            try await eachRun { _ in
                let alone = try await genuine(server).tail
                let (beside, share) = try await genuine(server, beside: flood, rate: 2 * refused)
                let isBusy = share > BenchTurn.saturation
                return [
                    .init(
                        "genuine p99 beside a forged flood at twice saturation / alone", beside / alone, "ratio",
                        .atMost(2),
                        note: isBusy
                            ? "the generator's core had nothing left to give: some of the wait is its own" : nil),
                    .init("forged receipts refused at saturation", refused, "/s"),
                    .init("genuine p99 at 1,000/s alone", alone, "ms"),
                    .init("genuine p99 at 1,000/s beside the flood", beside, "ms"),
                    .init("generator's core beside the flood", 100 * share, "%"),
                ]
            }
        }
    }

    private static let genuineRate = 1000.0
    /// As many as it takes to keep the rate for a while.
    private static let floodConnections = 512

    /// Measures the p99 of genuine requests in milliseconds, and the use of the generator's core by all requests.
    private func genuine(
        _ server: BenchServer, beside flood: TrafficSource? = nil, rate: Double = 0
    ) async throws -> (tail: Double, generatorShare: Double) {
        let seconds = plan.seconds
        let flooding = flood.map { flood in
            var load = openPlan(for: server.port, rate: rate, seconds: 10 * seconds)
            load.connections = Self.floodConnections
            // Else genuine requests would wait for the flood in the generator.
            load.givesWay = true
            return run(load, flood)
        }
        async let flooded: LoadMeasurements? = flooding?.run()
        let genuine: LoadMeasurements
        do {
            var load = openPlan(for: server.port, rate: Self.genuineRate, seconds: seconds)
            // What is recorded begins when the flood has.
            load.warmupSeconds = flood == nil ? 0 : min(1, seconds)
            genuine = try await drive(load, repeatedTraffic)
        } catch {
            flooding?.stop()
            _ = try await flooded
            throw error
        }
        flooding?.stop()
        let share = genuine.cpuShare(workers: 1) + (try await flooded?.cpuShare(workers: 1) ?? 0)
        return (genuine.p99, share)
    }
}

extension LoadMeasurements {
    /// Percentiles of the response in milliseconds; infinite if nothing was answered.
    fileprivate var p50: Double { response.milliseconds(atPercentile: 50) ?? .infinity }
    fileprivate var p99: Double { response.milliseconds(atPercentile: 99) ?? .infinity }
}
