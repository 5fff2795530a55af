// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What `fleet --format json` prints.
struct FleetReport: Encodable, Sendable {
    var costs: [FleetCost] = []
    var sharedHits: [SharedHits] = []
    var sizes: [FleetSize] = []

    private enum CodingKeys: String, CodingKey {
        case costs, sizes
        case sharedHits = "shared_hits"
    }
}

/// What a request costs that is answered in one way, asked alone.
struct FleetCost: Encodable, Hashable, Sendable {
    let way: FleetPlan.Way
    let leases: FleetPlan.Leases
    let requests: Int
    /// That the gateway sent to Redis, for each request.
    let commands: Double
    /// That Redis carried out, those within scripts included.
    let operations: Double
    /// Times that Redis had something to read.
    let roundTrips: Double
    let cpuMicroseconds: Double
    /// Commands that were sent, by name.
    let byCommand: [String: Double]

    private enum CodingKeys: String, CodingKey {
        case way, leases, requests
        case commands = "commands_per_request"
        case operations = "operations_per_request"
        case roundTrips = "round_trips_per_request"
        case cpuMicroseconds = "cpu_microseconds_per_request"
        case byCommand = "by_command"
    }

    init(_ way: FleetPlan.Way, _ leases: FleetPlan.Leases, _ load: MeasuredFleet.Load, _ sent: SentCommands) {
        self.way = way
        self.leases = leases
        requests = load.requests
        commands = load.perRequest(Double(sent.commands.count)).rounded(toDecimals: 3)
        operations = load.operations
        roundTrips = load.perRequest(Double(load.redis.reads)).rounded(toDecimals: 3)
        cpuMicroseconds = load.cpuMicroseconds
        byCommand = sent.byName.mapValues { load.perRequest(Double($0)).rounded(toDecimals: 3) }
    }
}

/// One gateway's shared hits beside what Redis alone does.
struct SharedHits: Encodable, Hashable, Sendable {
    let leases: FleetPlan.Leases
    let requestsPerSecond: Double
    /// Requests whose commands `redis-benchmark` has carried out in a second, over as many connections and as deep.
    let redisBenchmarkPerSecond: Double
    let ratio: Double
    /// Commands that were read at once, on average.
    let pipeline: Int

    private enum CodingKeys: String, CodingKey {
        case leases, ratio, pipeline
        case requestsPerSecond = "requests_per_second"
        case redisBenchmarkPerSecond = "redis_benchmark_per_second"
    }

    init(_ leases: FleetPlan.Leases, _ load: MeasuredFleet.Load, pipeline: Int, redisMicroseconds: Double) {
        self.leases = leases
        self.pipeline = pipeline
        requestsPerSecond = load.perSecond.rounded(toDecimals: 1)
        redisBenchmarkPerSecond = (redisMicroseconds > 0 ? 1e6 / redisMicroseconds : 0).rounded(toDecimals: 1)
        ratio = (load.perSecond * redisMicroseconds / 1e6).rounded(toDecimals: 3)
    }
}

/// Shared hits of a whole fleet under load.
struct FleetSize: Encodable, Hashable, Sendable {
    let nodes: Int
    let leases: FleetPlan.Leases
    let requests: Int
    let requestsPerSecond: Double
    let operations: Double
    let cpuMicroseconds: Double

    private enum CodingKeys: String, CodingKey {
        case nodes, leases, requests
        case requestsPerSecond = "requests_per_second"
        case operations = "operations_per_request"
        case cpuMicroseconds = "cpu_microseconds_per_request"
    }

    init(_ nodes: Int, _ leases: FleetPlan.Leases, _ load: MeasuredFleet.Load) {
        self.nodes = nodes
        self.leases = leases
        requests = load.requests
        requestsPerSecond = load.perSecond.rounded(toDecimals: 1)
        operations = load.operations
        cpuMicroseconds = load.cpuMicroseconds
    }
}
