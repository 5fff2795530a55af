// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Measures the memory of connections that were used once and now wait.
    func measureConnections() async throws {
        try OpenFiles.makeRoom(for: plan.idleConnections)
        let deadlines = ["GATEWAY_HTTP_DEADLINES_HEADERS": "2m", "GATEWAY_HTTP_DEADLINES_IDLE": "2m"]
        try await withGateway(connectionLimits + deadlines) { server, _ in
            try await turn(server, repeatedTraffic, seconds: plan.warmupSeconds)
            let before = server.processes.residentBytes
            let (resident, open) = try await whileIdle(server) {
                (server.processes.residentBytes, server.processes.openFiles)
            }
            guard open >= plan.idleConnections else { throw BenchError.connections(open, of: plan.idleConnections) }
            let each = Double(resident - before) / Double(plan.idleConnections) / 1024
            report.add("memory of an idle keep-alive connection", each, "KiB", .atMost(20))
            report.add("idle connections", Double(plan.idleConnections), "")
        }
    }

    /// The settings of a gateway that accepts the most connections of the bench, all from one address.
    var connectionLimits: [String: String] {
        let most = "\(plan.idleConnections + 1000)"
        return ["GATEWAY_HTTP_LIMITS_CONNECTIONS": most, "GATEWAY_HTTP_LIMITS_CONNECTIONS_PER_ADDRESS": most]
    }

    /// Sends a request over each connection, and then hardly any while the body runs.
    private func whileIdle<Value: Sendable>(
        _ server: BenchServer, _ body: () async throws -> Value
    ) async throws -> Value {
        let asking = max(1, Double(plan.idleConnections) / Self.openingRate), idle = 4.0
        let rate = Double(plan.idleConnections) / asking
        var load = LoadPlan(target: .loopback(server.port))
        load.connections = plan.idleConnections
        load.timeout = .seconds(60)
        load.schedule = LoadSchedule(
            curve: RateCurve(stages: [
                RateStage(from: rate, to: rate, seconds: asking), RateStage(from: 0.5, to: 0.5, seconds: idle),
            ]), first: 1)
        return try await during(run(load, repeatedTraffic)) {
            try await Task.sleep(for: .seconds(asking + idle / 2))
            return try await body()
        }
    }

    private static let openingRate = 2000.0

    func measureGrowth() async throws {
        try await withGateway { server, _ in
            let rate = try await saturation(of: server).requestsPerSecond / 2, seconds = 60 * plan.minutes
            let load = openPlan(for: server.port, rate: rate, seconds: seconds)
            let interval = max(0.2, seconds / Double(Self.looks))
            let (_, points) = try await LongRun.sampling(every: .seconds(interval)) { now in
                MemoryPoint(seconds: now.seconds, residentBytes: server.processes.residentBytes)
            } while: {
                try await drive(load, repeatedTraffic)
            }
            let resident = Double(points.last?.residentBytes ?? 0)
            let percent = 100 * MemoryPoint.bytesPerMinute(points) / max(1, resident)
            report.add(
                "growth of memory at half of saturation, over \(PlainNumber.text(plan.minutes)) min", percent,
                "%/min", .atMost(1))
            report.add("memory at half of saturation", resident / 1_048_576, "MiB")
        }
    }

    private static let looks = 50

    /// Measures the memory that many distinct receipts leave behind beyond the cache's size.
    func measureChurn() async throws {
        let size = plan.churnCacheMebibytes
        try await withGateway(["GATEWAY_CACHE_NEAR_SIZE": "\(size)MiB"]) { server, _ in
            var before = 0, done = 0
            while done < plan.churnReceipts {
                try await cores.useAll()
                let count = min(Self.churnChunk, plan.churnReceipts - done)
                let pool = await factory.fresh(count, from: done) { _ in }
                try await cores.useGenerators()
                if done == 0 {
                    // Buffers and pools are as full before as afterwards; ten receipts fill no cache.
                    let few = TrafficSource.only(.repeated, ReceiptPools(repeated: Array(repeated.prefix(10))))
                    try await turn(server, few, seconds: plan.warmupSeconds)
                    before = server.processes.residentBytes
                }
                let source = TrafficSource.only(.fresh, ReceiptPools(fresh: pool))
                try await turn(server, source, requests: count)
                done += count
            }
            let growth = Double(server.processes.residentBytes - before) / 1_048_576
            report.add(
                "memory after \(done.grouped) distinct receipts, growth / configured cache", growth / Double(size),
                "ratio", .atMost(1))
            report.add("memory before the distinct receipts", Double(before) / 1_048_576, "MiB")
            report.add("growth with them", growth, "MiB")
            report.add("configured cache", Double(size), "MiB")
        }
    }

    private static let churnChunk = 5000
}

struct MemoryPoint: Hashable, Sendable {
    let seconds: Double
    let residentBytes: Int

    /// The slope by least squares, without the first fifth, when pools still fill; 0 for fewer than two points.
    static func bytesPerMinute(_ points: [MemoryPoint]) -> Double {
        let settled = points.dropFirst(points.count / 5), count = Double(max(1, settled.count))
        let meanTime = settled.map(\.seconds).reduce(0, +) / count
        let meanBytes = settled.map { Double($0.residentBytes) }.reduce(0, +) / count
        let spread = settled.map { ($0.seconds - meanTime) * ($0.seconds - meanTime) }.reduce(0, +)
        let common = settled.map { ($0.seconds - meanTime) * (Double($0.residentBytes) - meanBytes) }.reduce(0, +)
        return spread > 0 ? (60 * common / spread).rounded() : 0
    }
}
