// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

/// The figures, part after part, and what they have in common: cores, receipts, how load is put on.
final class Bench {
    let plan: BenchPlan
    let cores = Cores.ofThisProcess
    let gatewayPath: String
    let peers: PeerStart
    let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
    let mint: ReceiptMint
    let root: String
    /// Requests with receipts that are asked about again and again.
    let repeated: [PooledRequest]
    private let progress: ProgressLine
    private var doneSeconds = 0.0
    var report: BenchReport

    /// Makes the receipts; what is measured runs later.
    init(_ plan: BenchPlan, gatewayPath: String, ceilingsPath: String, templates: String, folder: ScratchFolder)
        async throws
    {
        self.plan = plan
        self.gatewayPath = gatewayPath
        peers = PeerStart(ceilingsPath: ceilingsPath, templates: templates, folder: folder, core: cores.server)
        root = try folder.write(pki.rootPEM, to: "root.pem")
        // The port stands in no request: all contestants get the same octets.
        let form = RequestForm(target: try LoadTarget("http://127.0.0.1/v1/verify"), mode: nil, fields: [])
        mint = ReceiptMint(pki, seed: 1, form: form, bodyBytes: plan.bodyBytes)
        progress = ProgressLine(
            unit: "seconds of measuring", total: max(1, Int(plan.parts.map(plan.estimate).reduce(0, +))))
        report = BenchReport(plan: plan)
        repeated = await mint.repeated(plan.keys) { _ in }
    }

    /// Measures every part of the plan.
    func run() async throws -> BenchReport {
        defer { progress.finish() }
        var estimated = 0.0
        for part in plan.parts {
            try await measure(part)
            estimated += plan.estimate(part)
            passed(estimated - doneSeconds)
        }
        return report
    }

    /// Tells that measuring went on for so long.
    func passed(_ seconds: Double) {
        doneSeconds += seconds
        progress.update(done: Int(doneSeconds))
    }

    private func measure(_ part: BenchPart) async throws {
        switch part {
        case .near: try await measureNear()
        case .local: try await measureLocal()
        case .verify: try await measureVerify()
        case .shared: try await measureShared()
        case .tail: try await measureTail()
        case .flood: try await measureFlood()
        case .connections: try await measureConnections()
        case .growth: try await measureGrowth()
        case .churn: try await measureChurn()
        case .bodies: try await measureBodies()
        case .start: try await measureStart()
        }
    }
}

// MARK: - Servers and loads

extension Bench {
    /// A gateway on its core that does not ask Apple; everything else is as shipped, the log of all requests included.
    func startGateway(_ settings: [String: String] = [:]) async throws -> RunningGateway {
        let usual = [
            "GATEWAY_TRUST_ROOTS": root + "=Sandbox+Production", "GATEWAY_APPLE_ENABLED": "false",
        ]
        return try await RunningGateway.start(gatewayPath, usual.merging(settings) { $1 }, core: cores.server)
    }

    /// What a run of the repeated receipts sends.
    var repeatedTraffic: TrafficSource { traffic(ReceiptPools(repeated: repeated), .repeated) }

    func traffic(_ pools: ReceiptPools, _ mix: RequestMix) -> TrafficSource {
        .receipts(pools, mix, KeyPopularity(keys: pools.repeated.count, exponent: 0))
    }

    /// A plan without a schedule.
    func plan(for port: Int) throws -> LoadPlan {
        var load = LoadPlan(target: try LoadTarget("http://127.0.0.1:\(port)/v1/verify"))
        load.connections = plan.connections
        return load
    }

    /// As fast as it answers.
    func closedPlan(for port: Int, seconds: Double) throws -> LoadPlan {
        var load = try plan(for: port)
        (load.isClosed, load.closedSeconds) = (true, seconds)
        return load
    }

    /// At one rate, whatever becomes of it.
    func openPlan(for port: Int, rate: Double, seconds: Double) throws -> LoadPlan {
        var load = try plan(for: port)
        load.schedule = LoadSchedule(
            curve: RateCurve(stages: [RateStage(from: rate, to: rate, seconds: seconds)]), pattern: .constant,
            first: rate)
        return load
    }

    /// Runs a plan; throws if a hundredth of the requests failed.
    func drive(_ load: LoadPlan, _ source: TrafficSource, before: Int = 0) async throws -> LoadMeasurements {
        let run = LoadRun(plan: load) { source.traffic(worker: $0, load, requestsBefore: before) }
        let measurements = try await run.run()
        try Task.checkCancellation()
        let counts = measurements.counts
        guard counts.intended > 0, counts.errors * 100 <= counts.intended else {
            throw BenchError.failures(load.target.authority, count: counts.errors, of: counts.intended)
        }
        return measurements
    }

    /// One turn of a contestant in a closed loop.
    func turn(
        _ contestant: Contestant, _ source: TrafficSource, seconds: Double, before: Int = 0
    ) async throws -> BenchTurn {
        let cpu = contestant.processes.cpuSeconds
        let measurements = try await drive(
            closedPlan(for: contestant.port, seconds: seconds), source, before: before)
        passed(seconds)
        return BenchTurn(contestant.name, measurements, serverCPUSeconds: contestant.processes.cpuSeconds - cpu)
    }

    private static let neededShare = 0.97

    /// Throws unless nearly all answers had this outcome. Not all: a near cache forgets after some seconds, and then looks
    /// once more.
    func check(_ turn: BenchTurn, _ outcome: Outcome) throws(BenchError) {
        let share = Double(turn.outcomes[outcome.index]) / Double(max(1, turn.requests))
        guard share >= Self.neededShare else {
            throw .otherwiseAnswered(turn.name.rawValue, wanted: outcome.rawValue, share: share)
        }
    }
}
