// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
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
        return try await only.load(answeredBy: way) { await only.inTurn() }
    }

    /// Asks all gateways at once for a while.
    func eager(_ seconds: Double, answeredBy way: FleetPlan.Way) async throws -> Load {
        try await load(answeredBy: way) { try await press(seconds) }
    }

    /// What became of the requests of a load.
    private struct Driven: Sendable {
        var requests = 0
        var failures = 0
    }

    private func load(answeredBy way: FleetPlan.Way, _ drive: () async throws -> Driven) async throws -> Load {
        let before = try await reading(way), counts = try await redis.counts()
        let start = ContinuousClock.now
        let result = try await drive()
        let took = ContinuousClock.now - start
        let load = Load(
            requests: result.requests, seconds: took.seconds,
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

    /// Each request once, one after the other over each connection.
    private func inTurn() async -> Driven {
        let result = SharedLoadResult()
        let schedule = Schedule(.steady(perSecond: 1e6, count: requests.count), start: .now)
        await LoadDriver(port: gateways[0].dataPort, connections: connections).run(schedule) { [requests] in
            requests[$0 % requests.count]
        } record: {
            result.record($0)
        }
        return Driven(requests: result.result.latencies.count, failures: result.result.failures)
    }

    /// All gateways at once, as fast as they answer.
    private func press(_ seconds: Double) async throws -> Driven {
        let traffic = RequestsInTurn(requests.map(\.bytes))
        return try await withThrowingTaskGroup { group in
            for gateway in gateways {
                var plan = LoadPlan(target: try LoadTarget("http://127.0.0.1:\(gateway.dataPort)/v1/verify"))
                (plan.isClosed, plan.closedSeconds) = (true, seconds)
                plan.connections = max(1, connections / gateways.count)
                let run = LoadRun(plan: plan) { _ in traffic }
                group.addTask { try await run.run().counts }
            }
            var driven = Driven()
            for try await counts in group {
                driven.requests += counts.intended
                driven.failures += counts.intended - counts.answered
            }
            return driven
        }
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

/// Requests one after the other, again and again.
struct RequestsInTurn: LoadTraffic {
    private let requests: [ByteBuffer]
    private var position = 0

    /// - Parameter requests: at least one.
    init(_ requests: [ByteBuffer]) {
        self.requests = requests
    }

    mutating func next() -> ByteBuffer {
        defer { position = (position + 1) % requests.count }
        return requests[position]
    }
}

extension PreparedRequest {
    /// The request as it goes over the wire (RFC 9112 §3).
    var bytes: ByteBuffer {
        var bytes = ByteBuffer(string: "\(head.method.rawValue) \(head.uri) HTTP/1.1\r\n")
        for (name, value) in head.headers { bytes.writeString("\(name): \(value)\r\n") }
        bytes.writeString("\r\n")
        bytes.writeImmutableBuffer(body)
        return bytes
    }
}
