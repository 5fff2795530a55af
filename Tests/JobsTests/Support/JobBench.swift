// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Resilience
import Synchronization

@testable import Customers

/// The wall clock and the steady clock, which go on when the test says so.
final class JobClock: Sendable {
    static let start = Timestamp(millisecondsSince1970: 1_800_000_000_000)

    private let passed = Mutex(Duration.zero)
    private let origin = ContinuousClock.now

    var elapsed: Duration { passed.withLock { $0 } }
    var time: Timestamp { Self.start.advanced(by: elapsed) }
    var now: ContinuousClock.Instant { origin + elapsed }
    func advance(by step: Duration) { passed.withLock { $0 += step } }
}

/// Apple, as attempts meet it: away in some lanes, or up within a budget.
final class SimulatedApple: JobRunner {
    private struct State {
        var down: Set<JobLane> = []
        var bucket: TokenBucket
        /// The calls that Apple answered, or that ran into its failure.
        var calls = 0
        var refused = 0
        var runs = 0
    }

    private let state: Mutex<State>
    private let clock: JobClock
    /// The obstacle in a lane that is down, by the number of the run.
    private let obstacle: @Sendable (_ run: Int) -> JobObstacle

    init(
        _ clock: JobClock, budget: Int = 1000,
        obstacle: @escaping @Sendable (_ run: Int) -> JobObstacle = { _ in .upstream(.circuitOpen) }
    ) {
        (self.clock, self.obstacle) = (clock, obstacle)
        state = Mutex(
            State(bucket: TokenBucket(TokenBucket.Policy(capacity: budget, refill: budget, per: .seconds(1)))))
    }

    var calls: Int { state.withLock { $0.calls } }
    var refused: Int { state.withLock { $0.refused } }
    var runs: Int { state.withLock { $0.runs } }

    func setDown(_ lanes: Set<JobLane>) { state.withLock { $0.down = lanes } }

    func run(_ job: VerificationJob, _ request: JobRequest) async -> JobOutcome {
        state.withLock { state in
            state.runs += 1
            if state.down.contains(job.lane) {
                let obstacle = obstacle(state.runs)
                if case .request = obstacle { state.calls += 1 }
                return .waiting(.undecided, obstacle)
            }
            guard !state.bucket.take(at: clock.now).isRefusal else {
                state.refused += 1
                return .waiting(.undecided, .upstream(.upstreamBudget))
            }
            state.calls += 1
            return .decided(.genuine)
        }
    }
}

extension JobResult {
    static let undecided = JobResult(json: Array("{}".utf8), verdict: "undecided", reason: "upstream_did_not_answer")
    static let genuine = JobResult(
        json: Array(#"{"verdict":"genuine"}"#.utf8), verdict: "genuine", environment: .production,
        bundleID: "com.example.shop", originalTransactionIDs: ["2000000012345678", "2000000012345679"])
}

extension EmbeddedJobStore {
    /// Ends a job at a time that does not matter.
    func end(_ taken: TakenJob, _ status: JobStatus, result: JobResult) -> Bool {
        end(taken, status, result: result, at: JobClock.start)
    }
}

/// Writes events into memory.
final class EventRecorder: EventWriter {
    private let written = Mutex<[Event]>([])
    var events: [Event] { written.withLock { $0 } }
    func append(_ event: Event) async throws(StoreUnreachable) { written.withLock { $0.append(event) } }
}

/// A store with jobs, and nodes that work on them.
struct JobBench {
    let clock = JobClock()
    let store: EmbeddedJobStore
    let events = EventRecorder()
    let apple: SimulatedApple
    private let observed = JobEvents()

    private final class JobEvents: Sendable {
        let all = Mutex<[JobEvent]>([])
        /// The jobs that were created and have not ended.
        let waiting = Mutex(0)

        func record(_ event: JobEvent) {
            all.withLock { $0.append(event) }
            if case .ended = event { waiting.withLock { $0 -= 1 } }
        }
    }

    init(
        _ rules: JobRules = JobRules(), budget: Int = 1000,
        obstacle: @escaping @Sendable (_ run: Int) -> JobObstacle = { _ in .upstream(.circuitOpen) }
    ) {
        store = EmbeddedJobStore(rules) { [clock] in clock.time }
        apple = SimulatedApple(clock, budget: budget, obstacle: obstacle)
    }

    var seen: [JobEvent] { observed.all.withLock { $0 } }

    func node(_ store: (any JobStore)? = nil) -> JobDispatcher {
        JobDispatcher(
            store: store ?? self.store, runner: apple, events: events,
            observe: { [observed] in observed.record($0) }, onEnd: { _ in },
            onEvents: { _ in }, clock: { [clock] in clock.time }, now: { [clock] in clock.now })
    }

    @discardableResult
    func create(
        _ number: Int = 0, client: String = "shop", lane: JobLane = .production, traceparent: String? = nil
    ) throws -> VerificationJob {
        let job = job(number, client: client, lane: lane, traceparent: traceparent)
        if try store.create(job, key: nil) == .created { observed.waiting.withLock { $0 += 1 } }
        return job
    }

    func job(
        _ number: Int = 0, client: String = "shop", lane: JobLane = .production, evidence: [UInt8]? = nil,
        traceparent: String? = nil
    ) -> VerificationJob {
        let chain = PurchaseChain(
            bundleID: "com.example.shop", environment: .production, originalTransactionID: "\(2_000_000 + number)")
        let request = JobRequest(
            .evidence(.appReceipt(evidence ?? Array("\(lane) receipt \(number)".utf8))), JobOptions(), chains: [chain])
        return VerificationJob(
            id: "ver_\(client)_\(lane)_\(number)", client: client, createdAt: clock.time,
            deadline: clock.time.advanced(by: .seconds(72 * 3600)), lane: lane, traceparent: traceparent,
            request: request, result: .undecided)
    }

    /// One round of a node in all lanes.
    func turn(_ node: JobDispatcher) async {
        for lane in JobLane.allCases {
            for taken in await node.take(in: lane) { await node.work(on: taken, in: lane) }
        }
    }

    /// Rounds of some nodes for a time, or until no job waits.
    func run(_ nodes: [JobDispatcher], for duration: Duration, step: Duration) async {
        let end = clock.elapsed + duration
        while clock.elapsed < end, observed.waiting.withLock({ $0 }) > 0 {
            for node in nodes { await turn(node) }
            clock.advance(by: step)
        }
    }
}
