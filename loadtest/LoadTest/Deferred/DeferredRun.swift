// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ReceiptForge
internal import Synchronization

/// An outage of the simulated Apple: requests that are deferred meanwhile, and their end after its return.
struct DeferredRun: Sendable {
    private enum Limits {
        /// The receipts that are made and sent together, so that they need little memory.
        static let batch = 5000
        /// The end of one batch, in seconds.
        static let posting = 600.0
        static let poll = Duration.milliseconds(500)
        /// The interval at which the requests to Apple are counted; reading the memory takes longer.
        static let calls = Duration.milliseconds(50)
        static let memory = Duration.seconds(1)
        /// The time between two kills: a gateway has started again, and has taken jobs.
        static let kill = Duration.seconds(15)
        static let bodyBytes = 6000
    }

    let plan: DeferredCommand

    func run() async throws -> FigureReport {
        try await RunningFleet.start(plan.fleet, gatewayPath: plan.gateway.path).whileRunning { fleet in
            let (measured, calls) = try await LongRun.sampling(every: Limits.calls) { now in
                (seconds: now.seconds, count: await fleet.questions)
            } while: {
                try await LongRun.sampling(every: Limits.memory) { _ in
                    await fleet.residentBytes
                } while: {
                    try await measure(fleet)
                }
            }
            var outcome = measured.value
            outcome.meter = CallMeter(budget: Double(plan.budget))
            for call in calls { outcome.meter.record(call.count, at: call.seconds) }
            outcome.residentBytes = measured.samples.max() ?? 0
            return outcome.report(plan)
        }
    }

    private func measure(_ fleet: RunningFleet) async throws -> DeferredOutcome {
        let emptyBytes = try await fleet.redisMemory, idleCPU = await fleet.cpuSeconds
        var outcome = DeferredOutcome()
        let began = ContinuousClock.now
        let ids = try await post(to: fleet, &outcome)
        outcome.redisBytes = try await fleet.redisMemory - emptyBytes
        outcome.kills = try await withThrowingTaskGroup { group in
            if plan.kill { group.addTask { try await fleet.killGateways(every: Limits.kill) } }
            try await ContinuousClock().sleep(until: began + .seconds(plan.outage.seconds))
            outcome.waiting = try await fleet.waitingJobs
            outcome.outageSeconds = (ContinuousClock.now - began).seconds
            try await fleet.carryOut(.apple(.healthy))
            try await drain(fleet, &outcome)
            group.cancelAll()
            return try await group.reduce(0, +)
        }
        outcome.cpuSeconds = plan.kill ? nil : await fleet.cpuSeconds - idleCPU
        try await check(ids, by: fleet, &outcome)
        return outcome
    }

    /// Waits until no job waits.
    private func drain(_ fleet: RunningFleet, _ outcome: inout DeferredOutcome) async throws {
        let progress = ProgressLine(unit: "jobs", total: max(1, outcome.waiting))
        let (waiting, limit) = (outcome.waiting, plan.limitSeconds(waiting: outcome.waiting))
        var left = waiting
        outcome.drainSeconds = try await LongRun.wait(atMost: .seconds(limit), every: Limits.poll) {
            left = try await fleet.waitingJobs
            progress.update(done: max(0, waiting - left))
            return left == 0
        }?.seconds
        outcome.left = left
    }
}

// MARK: - Requests

extension DeferredRun {
    /// Posts every receipt once, in batches, and returns the IDs of some jobs, evenly spread.
    private func post(to fleet: RunningFleet, _ outcome: inout DeferredOutcome) async throws -> [String] {
        let jobs = DeferredJobs(every: plan.sampleStride)
        let target = await fleet.target
        let fields = [HeaderField(name: "Prefer", value: "respond-async")] + (await fleet.authorization)
        let form = RequestForm(target: target, mode: .apple, fields: fields)
        let factory = ReceiptFactory(
            ForgedPKI(seed: CorpusCommand.defaultSeed), seed: 1, form: form, bodyBytes: Limits.bodyBytes,
            receiptType: "Production")
        let progress = ProgressLine(unit: "requests", total: plan.jobs)
        for first in stride(from: 0, to: plan.jobs, by: Limits.batch) {
            let count = min(Limits.batch, plan.jobs - first)
            let fresh = await factory.fresh(count, from: first) { progress.update(done: first + $0) }
            let source = TrafficSource.only(.fresh, ReceiptPools(fresh: fresh))
            let measurements = try await source.post(count, to: target, seconds: Limits.posting) { load in
                // The soft timeout of the gateway, and more on a busy machine.
                load.timeout = .seconds(30)
                load.completion = jobs.add
            }
            outcome.statuses.merge(measurements.statuses, uniquingKeysWith: +)
            outcome.unanswered += count - measurements.statuses.values.reduce(0, +)
            outcome.postingSeconds += measurements.seconds
        }
        return jobs.ids
    }

    /// Reads results, and counts the results without Apple's verdict.
    private func check(_ ids: [String], by fleet: RunningFleet, _ outcome: inout DeferredOutcome) async throws {
        for id in ids {
            let target = LoadTarget.loopback(await fleet.clientPort, "/v1/verifications/\(id)")
            let request = RequestForm.request("GET", target, await fleet.authorization, body: nil)
            let reply = try await Exchange(target: target).send(request)
            outcome.checked += 1
            if !reply.isApplesVerdict { outcome.wrong += 1 }
        }
    }
}

extension Exchange.Reply {
    /// True for a job that is done with an answer of Apple's, cached or not.
    fileprivate var isApplesVerdict: Bool {
        let text = String(decoding: body, as: UTF8.self)
        return answer?.status == 200
            && [#""status":"done""#, #""verdict":"genuine""#, #""source":"apple""#].allSatisfy(text.contains)
    }
}

// MARK: - Observations

private final class DeferredJobs: Sendable {
    private let state = Mutex((deferred: 0, ids: [String]()))
    private let stride: Int

    init(every stride: Int) { self.stride = stride }

    var ids: [String] { state.withLock(\.ids) }

    /// Adds a job by its answer, if the job's result will be read.
    func add(_ completion: Completion) {
        guard completion.status == 202 else { return }
        state.withLock { state in
            if state.deferred % stride == 0 { state.ids += QuotedParts(completion.opening).values(of: "id").prefix(1) }
            state.deferred += 1
        }
    }
}

extension RunningFleet {
    /// The jobs that wait in Redis, also jobs being worked on.
    fileprivate var waitingJobs: Int {
        get async throws {
            let reply = try await redis?.send(["ZCARD", "gw:{v}:waiting"]) ?? ""
            guard let count = Int(reply.prefix { $0.isNumber }) else { throw FleetError.redis(said: reply) }
            return count
        }
    }
}
