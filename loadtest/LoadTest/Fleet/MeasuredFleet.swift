// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Gateways that share a Redis, and one client who asks them.
struct MeasuredFleet: Sendable {
    let gateways: [RunningGateway]
    let redis: RunningRedis
    let requests: [PreparedRequest]
    let connections: Int

    /// What a load came to.
    struct Load: Sendable {
        let requests: Int
        let seconds: Double
        let cpuSeconds: Double
        let redis: RedisCounts

        /// A value for each request.
        func perRequest(_ value: Double) -> Double { value / Double(max(1, requests)) }
        var perSecond: Double { Double(requests) / seconds }
        /// That Redis carried out for a request, those within scripts included.
        var operations: Double { perRequest(Double(redis.total)).rounded(toDecimals: 3) }
        /// Of all gateways together, for a request.
        var cpuMicroseconds: Double { perRequest(cpuSeconds * 1e6).rounded(toDecimals: 1) }
    }

    /// Asks each gateway about each receipt in turn until everything was asked.
    ///
    /// - Parameter way: who is to answer; otherwise nothing was measured.
    func once(at gateway: Int, answeredBy way: FleetPlan.Way) async throws -> Load {
        let only = MeasuredFleet(
            gateways: [gateways[gateway]], redis: redis, requests: requests, connections: 1)
        return try await only.load(.steady(perSecond: 1e6, count: requests.count), answeredBy: way)
    }

    /// Asks all gateways at once for a while.
    func eager(_ seconds: Double, answeredBy way: FleetPlan.Way) async throws -> Load {
        try await load(.eager(.seconds(seconds)), answeredBy: way)
    }

    private func load(_ pace: Schedule.Pace, answeredBy way: FleetPlan.Way) async throws -> Load {
        let before = try await reading(way), counts = try await redis.counts()
        let start = ContinuousClock.now
        let result = await drive(pace, start)
        let took = ContinuousClock.now - start
        let load = Load(
            requests: result.latencies.count, seconds: took.seconds,
            cpuSeconds: try await reading(way).cpuSeconds - before.cpuSeconds, redis: try await redis.counts() - counts)
        guard result.failures == 0, load.requests > 0 else {
            throw FleetError.failures(count: result.failures, of: load.requests)
        }
        let answered = try await reading(way).answered - before.answered
        // A store that was slow for a moment is no reason to begin anew; one that is not used is.
        guard answered * 100 >= load.requests * 99 else {
            throw FleetError.otherwiseAnswered(way, count: load.requests - answered, of: load.requests)
        }
        return load
    }

    private func drive(_ pace: Schedule.Pace, _ start: ContinuousClock.Instant) async -> LoadResult {
        let result = SharedLoadResult()
        await withTaskGroup { group in
            for gateway in gateways {
                let driver = LoadDriver(port: gateway.dataPort, connections: max(1, connections / gateways.count))
                group.addTask { [requests] in
                    await driver.run(Schedule(pace, start: start)) {
                        requests[$0 % requests.count]
                    } record: {
                        result.record($0)
                    }
                }
            }
        }
        return result.result
    }

    private struct Reading {
        var cpuSeconds = 0.0
        var answered = 0
    }

    /// Of all gateways together.
    private func reading(_ way: FleetPlan.Way) async throws(DriveError) -> Reading {
        var reading = Reading()
        for gateway in gateways {
            let scrape = try await Scrape.of(adminPort: gateway.adminPort)
            reading.cpuSeconds += scrape.sum("process_cpu_seconds_total")
            let labels = ["cache": way.rawValue, "source": "apple"]
            reading.answered += Int(scrape.sum("receipt_gateway_verifications_total", labels))
        }
        return reading
    }
}
