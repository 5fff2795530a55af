// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Measures what requests cost a fleet and its Redis.
struct FleetBench: Sendable {
    let stage: FleetStage

    private var plan: FleetPlan { stage.plan }

    /// Every way to an answer, one request after another, so that what is sent together was sent for one request.
    func costs(_ leases: FleetPlan.Leases) async throws -> [FleetCost] {
        try await stage.fleet(nearCaches: [true, false], leases) { fleet in
            var costs: [FleetCost] = []
            // The first node asks Apple, and then knows; the other one keeps nothing itself.
            for (way, gateway) in [(FleetPlan.Way.miss, 0), (.near, 0), (.shared, 1)] {
                // Redis tells a node of its own writing as well: it looks what it has just learned up once.
                if way == .near { _ = try await fleet.once(at: gateway, answeredBy: .shared) }
                var load: MeasuredFleet.Load?
                let sent = try await stage.redis.commands {
                    load = try await fleet.once(at: gateway, answeredBy: way)
                }
                if let load { costs.append(FleetCost(way, leases, load, sent)) }
            }
            return costs
        }
    }

    /// Shared hits as fast as one gateway gives them, and redis-benchmark with the same commands, in the same state.
    func sharedHits(_ leases: FleetPlan.Leases) async throws -> SharedHits {
        try await stage.fleet(nearCaches: [false], leases) { fleet in
            _ = try await fleet.once(at: 0, answeredBy: .miss)
            let sent = try await stage.redis.commands { _ = try await fleet.once(at: 0, answeredBy: .shared) }
            let load = try await fleet.eager(plan.duration, answeredBy: .shared)
            let depth = max(1, (Double(load.redis.total) / Double(max(1, load.redis.reads))).rounded())
            let connections = try await connections()
            var microseconds = 0.0
            for (name, count) in sent.byName {
                guard let command = sent.sample(name) else { continue }
                let rate = try await stage.redis.benchmark(
                    command, connections: connections, pipeline: Int(depth), seconds: plan.duration)
                microseconds += 1e6 / rate * Double(count) / Double(plan.receipts)
            }
            return SharedHits(leases, load, pipeline: Int(depth), redisMicroseconds: microseconds)
        }
    }

    /// The same load on fleets of one, two and more gateways that keep nothing themselves.
    func sizes(_ leases: FleetPlan.Leases) async throws -> [FleetSize] {
        var sizes: [FleetSize] = []
        for count in 1...plan.nodes {
            let load = try await stage.fleet(
                nearCaches: Array(repeating: false, count: count), leases
            ) { fleet in
                _ = try await fleet.once(at: 0, answeredBy: .miss)
                return try await fleet.eager(plan.duration, answeredBy: .shared)
            }
            sizes.append(FleetSize(count, leases, load))
        }
        return sizes
    }

    /// Those of one gateway that carry commands.
    private func connections() async throws -> Int {
        let normal = try await stage.redis.ask(["client", "list", "type", "normal"])
        // The one that asks is among them.
        return max(1, normal.split(whereSeparator: \.isNewline).count - 1)
    }
}

extension RunningRedis {
    /// How often in a second `redis-benchmark` has a command carried out.
    func benchmark(
        _ command: [String], connections: Int, pipeline: Int, seconds: Double
    ) async throws -> Double {
        func run(_ count: Int) async throws -> Double {
            let arguments = [
                "-p", "\(port)", "-n", "\(count)", "-c", "\(connections)", "-P", "\(pipeline)", "--csv",
            ]
            let text = try await FinishedProgram.run("redis-benchmark", arguments + command).output
            // The rate stands behind the command's own text.
            let line = text.split(whereSeparator: \.isNewline).last ?? ""
            let fields = line.split(separator: ",").suffix(7).map { $0.filter { $0 != "\"" } }
            guard let rate = fields.first.flatMap({ Double($0) }), rate > 0 else { throw FleetError.redis(said: text) }
            return rate
        }
        // So long that it takes the time it is given.
        return try await run(max(1000, Int(try await run(10_000) * seconds)))
    }
}
