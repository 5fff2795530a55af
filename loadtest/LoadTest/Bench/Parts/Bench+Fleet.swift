// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials

extension Bench {
    /// Measures shared-cache hits beside redis-benchmark with the same commands. In both cases all share all cores.
    func measureShared() async throws {
        try await eachRun { _ in
            try await withFleet(limits: "") { fleet in
                try await fleet.once(.upstream)
                let sent = try await fleet.redis.commands { try await fleet.once(.hitShared) }
                let redisCPU = ProcessTree(root: fleet.redis.server.program.processIdentifier),
                    before = redisCPU.cpuSeconds
                let cost = try await fleet.load(.hitShared, connections: BenchPlan.manyConnections)
                let redisCPUSeconds = redisCPU.cpuSeconds - before
                let few = try await fleet.load(.hitShared, connections: BenchPlan.fewConnections)
                let depth = max(1, (Double(cost.operations) / Double(max(1, cost.reads))).rounded())
                let microseconds = try await fleet.redis.microseconds(
                    of: sent, pipeline: Int(depth), seconds: plan.seconds)
                let alone = Double(fleet.receipts) / microseconds * 1e6
                return [
                    .init(
                        "shared-cache hit over Redis / redis-benchmark doing the same", cost.perSecond / alone, "ratio",
                        .atLeast(0.6)),
                    .init("CPU of the gateway for a shared-cache hit", cost.cpuPerRequest, "us", .atMost(50)),
                    .init(
                        "CPU of the gateway for a shared-cache hit, over \(BenchPlan.fewConnections) connections",
                        few.cpuPerRequest, "us", .atMost(60)),
                    .init("CPU of Redis for it", 1e6 * redisCPUSeconds / Double(cost.requests), "us"),
                    .init("operations in Redis for it", cost.operationsPerRequest, ""),
                    .init("shared-cache hits", cost.perSecond, "/s"),
                    .init("redis-benchmark with the same commands", alone, "/s"),
                    .init("commands that Redis read at once", depth, ""),
                ]
            }
        }
    }

    /// Measures the processor time of the gateways and the operations of Redis for a request, by the source of its answer
    /// and by the number of gateways. The client has limits in three tiers, whose tokens gateways lease.
    func measureFleet() async throws {
        try await withFleet(nearCache: true, limits: Self.limits) { fleet in
            try await add(fleet.once(.upstream), "an answer from Apple")
            // Redis sends a node its own writing as well: it may look a new result up once more.
            try await fleet.once(nil)
            try await add(fleet.once(.hitNear), "a near-cache hit")
        }
        for count in 1...Self.mostGateways {
            try await withFleet(gateways: count, limits: Self.limits) { fleet in
                try await fleet.once(.upstream)
                let cost = try await fleet.load(.hitShared, connections: Self.connections)
                add(cost, "a shared-cache hit with \(count) \(count > 1 ? "gateways" : "gateway")")
            }
        }
    }

    static let mostGateways = 3
    /// Of all gateways together. So few that Redis answers in time, also where all share two cores.
    private static let connections = 12

    /// So much that no request is rejected.
    private static let limits = """
            limits:
              - {name: second, quota: 1000000, window: 1s}
              - {name: minute, quota: 10000000, window: 60s}
              - {name: day, quota: 10000000, window: 86400s, burst: 10000000}

        """

    private func add(_ cost: MeasuredFleet.Cost, _ name: String) {
        report.add("operations in Redis for \(name)", cost.operationsPerRequest, "")
        report.add("CPU of the gateways for \(name)", cost.cpuPerRequest, "us")
    }

    /// Runs the body with a fleet and receipts of paying customers.
    private func withFleet<Value: Sendable>(
        gateways: Int = 1, nearCache: Bool = false, limits: String, _ body: (MeasuredFleet) async throws -> Value
    ) async throws -> Value {
        var shape = FleetShape(gateways: gateways, hasRedis: true, limits: limits)
        // A latest receipt is signed once and given out for an hour.
        shape.apple = try Scenario(yaml: "reissue_seconds: 3600\nstories: {default: renewed}\n")
        // As shipped, with the log of all requests.
        shape.settings["GATEWAY_LOG_REQUESTS"] = "all"
        if !nearCache { shape.settings["GATEWAY_CACHE_NEAR_SIZE"] = "0B" }
        return try await RunningFleet.start(shape, gatewayPath: gatewayPath).whileRunning { fleet in
            guard let redis = await fleet.redis else { throw FleetError.redis(said: "it is not running") }
            let form = RequestForm(target: .loopback(80), mode: .auto, fields: await fleet.authorization)
            let factory = ReceiptFactory(pki, seed: 1, form: form, bodyBytes: plan.bodyBytes, receiptType: "Production")
            let pool = await factory.fresh(min(500, plan.keys)) { _ in }
            return try await body(
                MeasuredFleet(
                    bench: self, gateways: await fleet.servers, redis: redis, receipts: pool.count,
                    source: .only(.fresh, ReceiptPools(fresh: pool))))
        }
    }
}

/// Gateways that share a Redis, and requests about each of some receipts in turn.
private struct MeasuredFleet {
    let bench: Bench
    let gateways: [BenchServer]
    let redis: RunningRedis
    let receipts: Int
    let source: TrafficSource

    struct Cost {
        let requests, operations, reads: Int
        let seconds, cpuSeconds: Double
        var perSecond: Double { Double(requests) / seconds }
        var operationsPerRequest: Double { Double(operations) / Double(requests) }
        /// In microseconds.
        var cpuPerRequest: Double { 1e6 * cpuSeconds / Double(requests) }
    }

    /// Requests an answer about each receipt from the first gateway, in sequence. Nearly all answers must have the
    /// outcome, if it is given.
    @discardableResult
    func once(_ outcome: LoadOutcome?) async throws -> Cost {
        try await cost(outcome) {
            let target = LoadTarget.loopback(gateways[0].port)
            return try await bench.drive(
                .closed(target, over: 1, seconds: BenchPlan.longestSeconds, requests: receipts), source)
        }
    }

    /// Has all gateways answer as fast as they can, over so many connections together.
    func load(_ outcome: LoadOutcome, connections: Int) async throws -> Cost {
        let runs = gateways.map { gateway in
            bench.run(
                .closed(
                    .loopback(gateway.port), over: max(1, connections / gateways.count), seconds: bench.plan.seconds),
                source)
        }
        return try await cost(outcome) {
            try await withThrowingTaskGroup { group in
                for run in runs { group.addTask { try await run.run() } }
                return try await group.reduce(into: LoadMeasurements()) { $0.add($1) }
            }
        }
    }

    /// A store that was slow for a moment is no reason to begin anew; an unused store is.
    private static let neededShare = 0.8

    private func cost(_ outcome: LoadOutcome?, _ drive: () async throws -> LoadMeasurements) async throws -> Cost {
        let before = try await redis.counts(), cpu = gateways.cpuSeconds
        let measurements = try await drive()
        let used = gateways.cpuSeconds - cpu, after = try await redis.counts()
        let requests = max(1, measurements.counts.intended)
        if let outcome {
            let share = Double(measurements.counts[outcome]) / Double(requests)
            guard share >= Self.neededShare else {
                throw BenchError.otherwiseAnswered("the fleet", wanted: outcome.rawValue, share: share)
            }
        }
        return Cost(
            requests: requests, operations: after.operations - before.operations, reads: after.reads - before.reads,
            seconds: max(0.001, measurements.seconds), cpuSeconds: used)
    }
}

/// The work of Redis until one moment.
struct RedisCounts: Hashable, Sendable {
    /// Commands that were carried out, also within scripts, without the commands for counting and connecting.
    private(set) var operations = 0
    /// Reads from connections: one read for all commands that arrived together.
    private(set) var reads = 0

    fileprivate static let overhead: Set<String> = [
        "info", "config", "slowlog", "hello", "auth", "ping", "client", "select", "script", "subscribe", "command",
    ]

    /// Reads the replies to `INFO commandstats` and `INFO stats`.
    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            if let match = line.wholeMatch(of: /cmdstat_([^:|]+)[^:]*:calls=(\d+),.*/) {
                if !Self.overhead.contains(String(match.1)) { operations += Int(match.2) ?? 0 }
            } else if let match = line.wholeMatch(of: /total_reads_processed:(\d+)/) {
                reads = Int(match.1) ?? 0
            }
        }
    }
}

/// A command in Redis' log of slow commands: number, time, microseconds, words, address, name of the connection.
struct LoggedCommand: Hashable, Sendable, Decodable {
    let words: [String]
    let address: String

    /// The address of a command within a script.
    private static let script = "?:0"
    /// The longest word that Redis keeps whole.
    private static let maximumWord = 128

    init(from decoder: any Decoder) throws {
        var fields = try decoder.unkeyedContainer()
        for _ in 0..<3 { _ = try fields.decode(Int.self) }
        words = try fields.decode([String].self)
        address = try fields.decode(String.self)
    }

    var name: String { words.first?.lowercased() ?? "" }
    var isSent: Bool { address != Self.script && !RedisCounts.overhead.contains(name) }
    var isWhole: Bool { words.allSatisfy { $0.utf8.count < Self.maximumWord } }

    static func read(_ json: String) throws -> [LoggedCommand] {
        try JSONDecoder().decode([LoggedCommand].self, from: Data(json.utf8)).filter(\.isSent)
    }
}

extension RunningRedis {
    func counts() async throws -> RedisCounts {
        RedisCounts(try await send(["info", "commandstats"]) + send(["info", "stats"]))
    }

    func commands(during body: () async throws -> Void) async throws -> [LoggedCommand] {
        try await send(["slowlog", "reset"])
        try await send(["config", "set", "slowlog-log-slower-than", "0"])
        try await body()
        try await send(["config", "set", "slowlog-log-slower-than", "-1"])
        return try LoggedCommand.read(try await send(["--json", "slowlog", "get", "-1"]))
    }

    /// The time that `redis-benchmark` takes for as many commands of each name.
    func microseconds(of commands: [LoggedCommand], pipeline: Int, seconds: Double) async throws -> Double {
        let clients = try await send(["client", "list", "type", "normal"]).split(whereSeparator: \.isNewline)
        // As many connections as the gateway has: redis-cli has a connection, too.
        let connections = max(1, clients.count - 1)
        var microseconds = 0.0
        for (_, alike) in Dictionary(grouping: commands, by: \.name) {
            guard let sample = alike.first(where: \.isWhole) else { continue }
            func rate(_ count: Int) async throws -> Double {
                try await benchmark(sample.words, count: count, connections: connections, pipeline: pipeline)
            }
            // So many that it takes its time.
            let rate = try await rate(max(1000, Int(try await rate(10_000) * seconds)))
            microseconds += 1e6 / rate * Double(alike.count)
        }
        return microseconds
    }

    private func benchmark(_ command: [String], count: Int, connections: Int, pipeline: Int) async throws -> Double {
        let arguments = ["-p", "\(port)", "-n", "\(count)", "-c", "\(connections)", "-P", "\(pipeline)", "--csv"]
        let text = try await FinishedProgram.run("redis-benchmark", arguments + command).output
        // The rate stands behind the command's own text.
        let fields = (text.split(whereSeparator: \.isNewline).last ?? "").split(separator: ",").suffix(7)
        guard let rate = fields.first.flatMap({ Double($0.filter { $0 != "\"" }) }), rate > 0 else {
            throw FleetError.redis(said: text)
        }
        return rate
    }
}
