// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures p99 at half of saturation for the gateway and for a bare handler, whose wait no gateway can avoid.
    func measureTail() async throws {
        try await withGateway { gateway, group in
            let saturation = try await saturation(of: gateway)
            let answerBytes = saturation.answerBytes, rate = saturation.requestsPerSecond / 2
            let ceiling = try await startBareHandler(answerBytes: answerBytes, in: group)
            var ours = Tails(), bare = Tails()
            for _ in 0..<plan.runs {
                ours.append(try await tail(of: gateway, rate: rate))
                bare.append(try await tail(of: ceiling, rate: rate))
            }
            add(ours, bare, rate: rate)
        }
    }

    private func tail(of server: BenchServer, rate: Double) async throws -> LoadMeasurements {
        // Restores what expired while the other server had its turn.
        try await turn(server, repeatedTraffic, seconds: BenchPlan.refreshSeconds)
        let load = openPlan(for: server.port, rate: rate, seconds: plan.seconds)
        return try await drive(load, repeatedTraffic)
    }

    private func add(_ ours: Tails, _ bare: Tails, rate: Double) {
        let late = max(ours.lateShares.median, bare.lateShares.median), tail = bare.p99.median
        let lateness =
            late <= GeneratorLimits().maximumLateShare
            ? "" : "; the generator sent \((100 * late).fixed(1)) % of the requests late, which counts as waiting"
        let beside = "the bare SwiftNIO handler: "
        report.add(
            "p99 / p50 at half of saturation", ours.ratios.median, "ratio", .atMost(3),
            note: "\(beside)\(bare.ratios.median.fixed(1))\(lateness)")
        report.add("p99 at half of saturation", ours.p99.median, "ms", .atMost(2), note: "\(beside)\(tail.fixed(2)) ms")
        report.add("half of saturation", rate, "/s")
        report.add("p50 at half of saturation", ours.p50.median, "ms")
        report.add("p50 of the bare SwiftNIO handler at this rate", bare.p50.median, "ms")
        report.add("p99 of the bare SwiftNIO handler at this rate", tail, "ms")
        report.add("p99 at half of saturation / bare SwiftNIO handler", ours.p99.ratio(to: bare.p99), "ratio")
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
            var alone = Rates(), beside = Rates(), shares = Rates()
            for _ in 0..<plan.runs {
                alone.append(try await genuine(server).tail)
                let run = try await genuine(server, beside: flood, rate: 2 * refused)
                beside.append(run.tail)
                shares.append(run.generatorShare)
            }
            let isBusy = shares.median > BenchTurn.saturation
            report.add(
                "genuine p99 beside a forged flood at twice saturation / alone", beside.ratio(to: alone), "ratio",
                .atMost(2),
                note: isBusy ? "the generator's core had nothing left to give: some of the wait is its own" : nil)
            report.add("forged receipts refused at saturation", refused, "/s")
            report.add("genuine p99 at 1,000/s alone", alone.median, "ms")
            report.add("genuine p99 at 1,000/s beside the flood", beside.median, "ms")
            report.add("generator's core beside the flood", 100 * shares.median, "%")
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
        return (genuine.response.milliseconds(atPercentile: 99) ?? .infinity, share)
    }
}

/// The response times of several runs, in milliseconds.
private struct Tails {
    private(set) var p50 = Rates(), p99 = Rates(), ratios = Rates(), lateShares = Rates()

    mutating func append(_ run: LoadMeasurements) {
        let middle = run.response.milliseconds(atPercentile: 50) ?? .infinity
        let tail = run.response.milliseconds(atPercentile: 99) ?? .infinity
        p50.append(middle)
        p99.append(tail)
        ratios.append(tail / middle)
        lateShares.append(run.lateShare)
    }
}
