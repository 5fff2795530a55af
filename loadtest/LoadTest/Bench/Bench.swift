// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The figures, part after part, and their common ground: cores, receipts, loads.
final class Bench {
    let plan: BenchPlan
    let cores = Cores.ofThisProcess
    let gatewayPath: String
    let peers: PeerStart
    let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
    let factory: ReceiptFactory
    let root: String
    let repeated: [PooledRequest]
    var report: FigureReport
    /// The requests that were sent so far: a load of new requests begins behind them.
    private var sent = 0

    init(_ plan: BenchPlan, gatewayPath: String, templates: String, folder: ScratchFolder)
        async throws
    {
        self.plan = plan
        self.gatewayPath = gatewayPath
        peers = PeerStart(templates: templates, folder: folder, core: cores.server)
        root = try folder.write(pki.rootPEM, to: "root.pem")
        // The port stands in no request: all servers get equal requests.
        let form = RequestForm(target: .loopback(80), mode: nil, fields: [])
        factory = ReceiptFactory(pki, seed: 1, form: form, bodyBytes: plan.bodyBytes)
        report = FigureReport(runs: plan.runs, secondsPerRun: plan.seconds)
        repeated = await factory.repeated(plan.keys) { _ in }
    }

    func run() async throws -> FigureReport {
        let start = ContinuousClock.now
        for (number, part) in plan.parts.enumerated() {
            let minutes = ((ContinuousClock.now - start).seconds / 60).fixed(1)
            ProgressStream.write("part \(number + 1) of \(plan.parts.count) after \(minutes) min: \(part.rawValue)\n")
            try await measure(part)
        }
        return report
    }

    private func measure(_ part: BenchPart) async throws {
        switch part {
        case .near: try await measureNear()
        case .local: try await measureLocal()
        case .verify: try await measureVerify()
        case .transactions: try await measureTransactions()
        case .notifications: try await measureNotifications()
        case .form: try await measureForm()
        case .shared: try await measureShared()
        case .fleet: try await measureFleet()
        case .serverAPI: try await measureServerAPI()
        case .tail: try await measureTail()
        case .flood: try await measureFlood()
        case .connections: try await measureConnections()
        case .growth: try await measureGrowth()
        case .churn: try await measureChurn()
        case .scale: try await measureScale()
        case .bodies: try await measureBodies()
        case .start: try await measureStart()
        }
    }
}

// MARK: - Servers and loads

extension Bench {
    /// Starts the bare SwiftNIO handler on the gateway's core. The group ends it.
    func startBareHandler(answerBytes: Int, in group: ProgramGroup) async throws -> BenchServer {
        BenchServer(.nio, try await group.add(peers.ceiling(answerBytes: answerBytes, core: cores.server)))
    }

    /// Starts a gateway on its core that sends Apple no requests; all else is as shipped, also the log of all requests.
    /// The group ends it.
    func startGateway(
        _ settings: [String: String] = [:], as name: BenchServer.Name = .gateway, in group: ProgramGroup
    ) async throws -> BenchServer {
        let gateway = try await RunningGateway.start(gatewayPath, localSettings + settings, core: cores.server)
        return BenchServer(await group.add(gateway), as: name)
    }

    /// Runs the body with such a gateway, while this process keeps to the generator's core. The group ends what the body
    /// adds to it.
    func withGateway<Value: Sendable>(
        _ settings: [String: String] = [:], _ body: (BenchServer, ProgramGroup) async throws -> Value
    ) async throws -> Value {
        let value = try await ProgramGroup().whileRunning { group in
            let gateway = try await startGateway(settings, in: group)
            try await cores.useGenerators()
            return try await body(gateway, group)
        }
        try await cores.useAll()
        return value
    }

    var localSettings: [String: String] { FleetShape.settings(root: root, apple: nil, redisURL: nil) }

    var repeatedTraffic: TrafficSource { .only(.repeated, ReceiptPools(repeated: repeated)) }

    func openPlan(for port: Int, rate: Double, seconds: Double) -> LoadPlan {
        var load = LoadPlan(target: .loopback(port), schedule: .constant(rate, seconds: seconds))
        load.connections = BenchPlan.manyConnections
        return load
    }

    func run(_ load: LoadPlan, _ source: TrafficSource) -> LoadRun {
        LoadRun(load, source, requestsBefore: sent)
    }

    /// Runs a plan; throws if more than a hundredth of the requests failed.
    func drive(_ load: LoadPlan, _ source: TrafficSource) async throws -> LoadMeasurements {
        let measurements = try await run(load, source).run()
        try Task.checkCancellation()
        let counts = measurements.counts
        sent += counts.sent
        guard counts.intended > 0, counts.errors * 100 <= counts.intended else {
            throw BenchError.failures(load.target.authority, count: counts.errors, of: counts.intended)
        }
        return measurements
    }

    /// Runs the body from the first request of a load on, and waits for the end of the load, or ends it with an error.
    func during<Value: Sendable>(_ run: LoadRun, _ body: () async throws -> Value) async throws -> Value {
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        async let finished: Void = {
            defer { beginning.finish() }
            _ = try await run.run { if case .began = $0 { beginning.finish() } }
        }()
        do {
            for await _ in begun {}
            let value = try await body()
            try await finished
            return value
        } catch {
            run.stop()
            try? await finished
            throw error
        }
    }

    /// Measures a server in a closed loop, for some seconds or a number of requests.
    @discardableResult
    func turn(
        _ server: BenchServer, _ source: TrafficSource, seconds: Double = BenchPlan.longestSeconds,
        requests: Int? = nil
    ) async throws -> BenchTurn {
        let cpu = server.processes.cpuSeconds
        let load = LoadPlan.closed(
            .loopback(server.port), over: server.connections, seconds: seconds, requests: requests)
        let measurements = try await drive(load, source)
        return BenchTurn(server, measurements, serverCPUSeconds: server.processes.cpuSeconds - cpu)
    }

    func turn(_ load: BenchLoad) async throws -> BenchTurn {
        let turn = try await turn(load.server, load.source, seconds: plan.seconds)
        if let outcome = load.outcome { try check(turn, outcome) }
        return turn
    }

    /// Measures figures in every run, and reports their medians.
    func eachRun(_ measure: (_ run: Int) async throws -> [FigureSample]) async throws {
        var runs: [[FigureSample]] = []
        for run in 0..<plan.runs { runs.append(try await measure(run)) }
        report.add(mediansOf: runs)
    }

    /// Lets loads take their turns of a run, which begins with another load each time, and returns them in the order of
    /// the loads.
    func turns(
        of loads: [BenchLoad], in run: Int, _ turn: (BenchLoad) async throws -> BenchTurn
    ) async throws -> [BenchTurn] {
        var turns: [Int: BenchTurn] = [:]
        for position in loads.indices {
            let index = (position + run) % loads.count
            turns[index] = try await turn(loads[index])
        }
        return loads.indices.compactMap { turns[$0] }
    }

    /// Lets loads take turns after a turn of each that does not count, and reports a figure of each.
    func compare(
        _ loads: [(name: String, load: BenchLoad)], by value: (BenchTurn) -> Double, _ unit: String
    ) async throws {
        for (_, load) in loads { try await turn(load.server, load.source, seconds: plan.warmupSeconds) }
        try await eachRun { run in
            let turns = try await turns(of: loads.map(\.load), in: run) { try await turn($0) }
            return zip(loads, turns).map { FigureSample($0.name, value($1), unit) }
        }
    }

    /// Throws unless nearly all answers had this outcome: a near cache forgets after some seconds, and looks once more.
    func check(_ turn: BenchTurn, _ outcome: LoadOutcome, share needed: Double = 0.97) throws(BenchError) {
        let share = Double(turn.outcomes[outcome.index]) / Double(max(1, turn.requests))
        guard share >= needed else {
            throw .otherwiseAnswered(turn.name.rawValue, wanted: outcome.rawValue, share: share)
        }
    }
}

struct BenchLoad {
    let server: BenchServer
    let source: TrafficSource
    /// The outcome of nearly all answers; nil for any.
    var outcome: LoadOutcome?
}
