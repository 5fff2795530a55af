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
        /// The interval at which the requests to Apple are counted.
        static let sample = Duration.milliseconds(50)
        /// The time between two kills: a gateway has started again, and has taken jobs.
        static let kill = Duration.seconds(15)
        static let bodyBytes = 6000
    }

    let plan: DeferredPlan

    /// Runs with gateways, Redis and a simulated Apple of its own.
    func run() async throws -> FigureReport {
        var shape = FleetShape(gateways: plan.gateways, hasRedis: true, appendFsync: .everysec)
        shape.hasBalancer = plan.gateways > 1
        shape.apple = try DeferredPlan.outage()
        shape.settings = plan.settings
        // One client, which may do everything that clients may.
        shape.limits = ""
        return try await RunningFleet.start(shape, gatewayPath: plan.gatewayPath).whileRunning { fleet in
            let samples = DeferredSamples(plan)
            return try await LongRun.meanwhile(every: Limits.sample) { now in
                samples.record(await fleet.questions, at: now.seconds)
            } _: {
                // Reading the memory takes longer than counting.
                try await LongRun.meanwhile(every: .seconds(1)) { _ in
                    samples.record(residentBytes: await fleet.residentBytes)
                } _: {
                    try await measure(fleet, samples).report(plan)
                }
            }
        }
    }

    private func measure(_ fleet: RunningFleet, _ samples: DeferredSamples) async throws -> DeferredOutcome {
        let emptyBytes = try await fleet.redisMemory, idleCPU = await fleet.cpuSeconds
        var outcome = DeferredOutcome()
        let began = ContinuousClock.now
        try await post(to: fleet, samples, &outcome)
        outcome.redisBytes = try await fleet.redisMemory - emptyBytes
        outcome.kills = try await withThrowingTaskGroup { group in
            if plan.kills { group.addTask { try await fleet.killGateways(every: Limits.kill) } }
            try await ContinuousClock().sleep(until: began + .seconds(plan.outageSeconds))
            outcome.waiting = try await fleet.waitingJobs
            outcome.outageSeconds = (ContinuousClock.now - began).seconds
            try await fleet.carryOut(.apple(.healthy))
            try await drain(fleet, &outcome)
            group.cancelAll()
            return try await group.reduce(0, +)
        }
        outcome.cpuSeconds = plan.kills ? nil : await fleet.cpuSeconds - idleCPU
        try await check(samples.ids, by: fleet, &outcome)
        (outcome.meter, outcome.residentBytes) = (samples.meter, samples.residentBytes)
        return outcome
    }

    /// Waits until no job waits.
    private func drain(_ fleet: RunningFleet, _ outcome: inout DeferredOutcome) async throws {
        let progress = ProgressLine(unit: "jobs", total: max(1, outcome.waiting))
        defer { progress.finish() }
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
    /// Posts every receipt once, in batches.
    private func post(
        to fleet: RunningFleet, _ samples: DeferredSamples, _ outcome: inout DeferredOutcome
    ) async throws {
        let target = try await fleet.target
        let fields = [HeaderField(name: "Prefer", value: "respond-async")] + (await fleet.authorization)
        let form = RequestForm(target: target, mode: .apple, fields: fields)
        let factory = ReceiptFactory(
            ForgedPKI(seed: CorpusCommand.defaultSeed), seed: 1, form: form, bodyBytes: Limits.bodyBytes,
            receiptType: "Production")
        let progress = ProgressLine(unit: "requests", total: plan.jobs)
        defer { progress.finish() }
        for first in stride(from: 0, to: plan.jobs, by: Limits.batch) {
            let count = min(Limits.batch, plan.jobs - first)
            var pools = ReceiptPools(repeated: [])
            pools.fresh = await factory.fresh(count, from: first) { progress.update(done: first + $0) }
            let source = TrafficSource.receipts(pools, .only(.fresh), KeyPopularity(keys: 0, exponent: 0))
            let measurements = try await source.post(count, to: target, seconds: Limits.posting) { load in
                // The soft timeout of the gateway, and more on a busy machine.
                load.timeout = .seconds(30)
                load.completion = { samples.add($0) }
            }
            outcome.statuses.merge(measurements.statuses, uniquingKeysWith: +)
            outcome.unanswered += count - measurements.statuses.values.reduce(0, +)
            outcome.postingSeconds += measurements.seconds
        }
    }

    /// Reads results, and counts the results without Apple's verdict.
    private func check(_ ids: [String], by fleet: RunningFleet, _ outcome: inout DeferredOutcome) async throws {
        for id in ids {
            let target = try LoadTarget("http://127.0.0.1:\(await fleet.clientPort)/v1/verifications/\(id)")
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

/// The observations that are made beside the run.
private final class DeferredSamples: Sendable {
    private struct State {
        var meter: CallMeter
        var residentBytes = 0
        var deferred = 0
        var ids: [String] = []
    }

    private let state: Mutex<State>
    private let stride: Int

    init(_ plan: DeferredPlan) {
        state = Mutex(State(meter: CallMeter(budget: Double(plan.budget))))
        stride = plan.sampleStride
    }

    var meter: CallMeter { state.withLock { $0.meter } }
    var residentBytes: Int { state.withLock { $0.residentBytes } }
    /// The IDs of some jobs, evenly spread.
    var ids: [String] { state.withLock { $0.ids } }

    func record(_ calls: Int, at seconds: Double) {
        state.withLock { $0.meter.record(calls, at: seconds) }
    }

    func record(residentBytes: Int) {
        state.withLock { $0.residentBytes = max($0.residentBytes, residentBytes) }
    }

    /// Adds a job by its answer, if the job's result will be read.
    func add(_ completion: Completion) {
        guard completion.status == 202 else { return }
        state.withLock { state in
            if state.deferred % stride == 0, let id = JobAnswer.id(in: completion.opening) { state.ids.append(id) }
            state.deferred += 1
        }
    }
}

enum JobAnswer {
    /// Returns the ID in the beginning of a job's JSON, whose first member it is.
    static func id(in opening: [UInt8]) -> String? {
        let words = String(decoding: opening, as: UTF8.self).split(separator: "\"", maxSplits: 4)
        guard words.count > 3, words[0] == "{", words[1] == "id" else { return nil }
        return String(words[3])
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

/// The requests to Apple against a budget: a token bucket that holds the requests of one second. Time is an argument.
struct CallMeter: Hashable, Sendable {
    private enum Limits {
        /// The samples of one second that are kept.
        static let samples = 1000
    }

    private struct Sample: Hashable, Sendable {
        let seconds: Double
        let calls: Int
    }

    /// Requests per second.
    let budget: Double
    private var samples: [Sample] = []
    private var level = 0.0
    /// The maximum number of requests within a second.
    private(set) var maximumPerSecond = 0
    /// The maximum number of requests that the bucket must have held. It is never more than the gateways really took.
    private(set) var maximumBurst = 0.0

    init(budget: Double) { self.budget = budget }

    /// Adds a sample.
    /// - Parameters:
    ///   - calls: all requests until now.
    ///   - seconds: the time since the first sample.
    mutating func record(_ calls: Int, at seconds: Double) {
        if let last = samples.last {
            // The new requests may have been the first of the interval, so that the bucket refilled after them.
            level = max(0, level + Double(calls - last.calls) - budget * (seconds - last.seconds))
            maximumBurst = max(maximumBurst, level)
        }
        samples.append(Sample(seconds: seconds, calls: calls))
        let first = samples.firstIndex { $0.seconds >= seconds - 1 } ?? 0
        samples.removeFirst(max(first, samples.count - Limits.samples))
        maximumPerSecond = max(maximumPerSecond, calls - samples[0].calls)
    }

    /// The most requests at once that a budget permits: a second's, and a tenth of a second's for the clock.
    var permittedBurst: Double { 1.1 * budget + 1 }
}
