// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Resilience
internal import Synchronization

/// Works on the jobs of the store, together with the other nodes.
///
/// ```
/// due ──▶ take, as the pace of the lane permits ──▶ attempt ──▶ postpone
///                                                       └─────▶ end ──▶ event ──▶ announced
/// ```
/// Each step may be repeated. A job whose worker disappears is due again when its lease ends. Only a process that ended
/// during an attempt counts as a loss of the job: results for an unreachable store are reported later.
package final class JobDispatcher: Sendable {
    package enum Limits {
        /// The time between two checks whether something may be taken.
        static let tick: Duration = .milliseconds(50)
        /// The same while attempts run: their ends make room for others.
        static let busyTick: Duration = .milliseconds(10)
        /// The time for which a job is taken. After it, another worker takes the job.
        static let lease: Duration = .seconds(60)
        /// The time of an attempt, so that its result is stored before the lease ends.
        static let attempt: Duration = .seconds(30)
        /// The processes that a job may end before it is given up.
        package static let losses = 3
        /// The attempts to store a result, and the time between them.
        static let saves = 5
        static let savePause: Duration = .seconds(1)
        /// The jobs whose losses are taken back once the store is reachable: more than are attempted in an outage.
        static let survivals = 1000
        package static let survey: Duration = .seconds(5)
    }

    private struct State {
        var paces: [JobLane: JobPace] = [:]
        /// The jobs whose attempts ended here, although the store does not know it.
        var survivals: [String] = []
        var isFinished = false
        var isDraining = false

        mutating func add(survivals ids: [String]) { survivals = (ids + survivals).suffix(Limits.survivals) }
    }

    private let store: any JobStore
    private let runner: any JobRunner
    private let events: any EventWriter
    private let observe: @Sendable (JobEvent) -> Void
    private let onEnd: @Sendable (_ id: String) -> Void
    private let onEvents: @Sendable (AppPartition) -> Void
    private let clock: @Sendable () -> Timestamp
    private let now: @Sendable () -> ContinuousClock.Instant
    private let timeouts = Timeouts()
    private let state = Mutex(State())

    /// - Parameter now: the clock of pauses.
    package init(
        store: any JobStore, runner: any JobRunner, events: any EventWriter,
        observe: @escaping @Sendable (JobEvent) -> Void, onEnd: @escaping @Sendable (_ id: String) -> Void,
        onEvents: @escaping @Sendable (AppPartition) -> Void, clock: @escaping @Sendable () -> Timestamp,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (self.store, self.runner, self.events, self.observe) = (store, runner, events, observe)
        (self.onEnd, self.onEvents, self.clock, self.now) = (onEnd, onEvents, clock, now)
    }

    /// Announces that this node created a job, so that it is taken without delay.
    package func announce(_ lane: JobLane) { withPace(of: lane) { $0.announce() } }

    /// Takes no more jobs. Attempts in flight go on.
    package func drain() { state.withLock { $0.isDraining = true } }

    /// Works on jobs until the task is cancelled. Then attempts in flight end, and other nodes take the rest.
    package func run() async {
        // A task of its own, which is not cancelled: an attempt that is cut short would be repeated.
        let work = Task { await self.runUntilFinished() }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            state.withLock { $0.isFinished = true }
        }
    }

    private var isFinished: Bool { state.withLock { $0.isFinished } }

    private func runUntilFinished() async {
        await withDiscardingTaskGroup { group in
            for lane in JobLane.allCases { group.addTask { await self.workRepeatedly(in: lane) } }
            group.addTask { await self.surveyRepeatedly() }
        }
    }

    private func workRepeatedly(in lane: JobLane) async {
        await withDiscardingTaskGroup { group in
            while !isFinished {
                for taken in await take(in: lane) { group.addTask { await self.work(on: taken, in: lane) } }
                let isBusy = withPace(of: lane) { $0.isBusy }
                try? await Task.sleep(for: isBusy ? Limits.busyTick : Limits.tick)
            }
        }
    }

    private func surveyRepeatedly() async {
        var next = ContinuousClock.now
        while !isFinished {
            if .now >= next {
                if let survey = await store.survey() { observe(.surveyed(survey)) }
                next = .now + Limits.survey
            }
            try? await Task.sleep(for: Limits.tick)
        }
    }

    private func withPace<Result>(of lane: JobLane, _ change: (inout JobPace) -> Result) -> Result {
        state.withLock { change(&$0.paces[lane, default: JobPace()]) }
    }

    // MARK: - One job

    /// Takes as many due jobs as the lane may have now. Only one task does so for each lane.
    func take(in lane: JobLane) async -> [TakenJob] {
        let permitted = withPace(of: lane) { $0.permitted(at: now()) }
        guard permitted > 0, await reportSurvivals(), !state.withLock(\.isDraining) else { return [] }
        let taken = (try? await store.take(permitted, in: lane, lease: Limits.lease)) ?? []
        withPace(of: lane) { $0.took(taken.count, of: permitted, at: now()) }
        return taken
    }

    /// Takes back the losses of jobs whose worker lives; returns false if the store is unreachable.
    private func reportSurvivals() async -> Bool {
        let ids = state.withLock { state in
            defer { state.survivals = [] }
            return state.survivals
        }
        if ids.isEmpty { return true }
        do throws(StoreUnreachable) {
            try await store.survived(ids)
            return true
        } catch {
            state.withLock { $0.add(survivals: ids) }
            return false
        }
    }

    func work(on taken: TakenJob, in lane: JobLane) async {
        defer { withPace(of: lane) { $0.finished() } }
        switch JobStep(taken, at: clock()) {
        case .announce: await announce(taken)
        case .attempt(let request): await attempt(taken, request, in: lane)
        case .end(let status): await end(taken, status, taken.job.result)
        case .deadLetter: if await end(taken, .failed, taken.job.result) { observe(.deadLettered) }
        }
    }

    private func attempt(_ taken: TakenJob, _ request: JobRequest, in lane: JobLane) async {
        let outcome = await outcome(of: taken.job, request)
        observe(.attempted(JobAttemptEnd(outcome)))
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        switch outcome {
        case .decided(let result):
            withPace(of: lane) { $0.reachedApple() }
            await end(taken, .done, result)
        case .waiting(let result, .request(let reason)):
            if reason?.facts.cause == .apple { withPace(of: lane) { $0.reachedApple() } }
            let delay = JobPace.delay(afterAttempts: taken.job.attempts, using: &generator)
            await postpone(taken, for: delay, result, isAttempt: true)
        case .waiting(let result, .upstream(let reason)):
            let delay = withPace(of: lane) { $0.pause(reason, at: now(), using: &generator) }
            await postpone(taken, for: delay, result, isAttempt: false)
        case .impossible:
            // Another node may have a newer clients file, or this node soon.
            let delay = JobPace.delay(afterAttempts: .max, using: &generator)
            await postpone(taken, for: delay, taken.job.result, isAttempt: true)
        }
    }

    private func outcome(of job: VerificationJob, _ request: JobRequest) async -> JobOutcome {
        let waiter = Waiter<JobOutcome>()
        let attempt = Task { waiter.end(with: await runner.run(job, request)) }
        defer { attempt.cancel() }
        return await waiter.value(waitLimit: Limits.attempt, timeouts)
            ?? .waiting(job.result, .request(.upstreamSlow))
    }

    private func postpone(_ taken: TakenJob, for delay: Duration, _ result: JobResult, isAttempt: Bool) async {
        await saveEnd(of: taken) { () async throws(StoreUnreachable) in
            try await store.postpone(taken, for: delay, result: result, isAttempt: isAttempt)
        }
    }

    /// - Returns: false if the end is not stored.
    @discardableResult
    private func end(_ taken: TakenJob, _ status: JobStatus, _ result: JobResult) async -> Bool {
        let endedAt = clock()
        let isEnded = await saveEnd(of: taken) { () async throws(StoreUnreachable) in
            try await store.end(taken, status, result: result, at: endedAt)
        }
        guard isEnded == true else { return false }
        observe(.ended(status, after: max(.zero, taken.job.createdAt.duration(to: endedAt))))
        onEnd(taken.job.id)
        var ended = taken
        (ended.job.status, ended.job.result, ended.job.endedAt) = (status, result, endedAt)
        await announce(ended)
        return true
    }

    /// Writes the event of an ended job. Without the store the job stays taken, and is announced after its lease.
    private func announce(_ taken: TakenJob) async {
        await save { () async throws(StoreUnreachable) in
            if let event = Event(completed: taken.job, at: clock()) {
                try await events.append(event)
                onEvents(event.partition)
            }
            try await store.announced(taken)
        }
    }

    /// Saves the end of an attempt. If that fails, the store counts a loss of the job, which is to be taken back.
    @discardableResult
    private func saveEnd<Result>(
        of taken: TakenJob, _ step: () async throws(StoreUnreachable) -> Result
    ) async -> Result? {
        let result = await save(step)
        if result == nil { state.withLock { $0.add(survivals: [taken.job.id]) } }
        return result
    }

    /// Repeats a step while the store is unreachable, some times.
    @discardableResult
    private func save<Result>(_ step: () async throws(StoreUnreachable) -> Result) async -> Result? {
        for attempt in 1...Limits.saves {
            if let result = try? await step() { return result }
            if attempt < Limits.saves { try? await Task.sleep(for: Limits.savePause) }
        }
        return nil
    }
}

enum JobStep: Hashable, Sendable {
    case attempt(JobRequest)
    /// It has no request that can be read, or its time is over.
    case end(JobStatus)
    /// It ended its worker too often.
    case deadLetter
    /// It has ended, but its worker may not have written the event.
    case announce

    init(_ taken: TakenJob, at now: Timestamp) {
        let job = taken.job
        if job.status != .waiting {
            self = .announce
        } else if taken.losses >= JobDispatcher.Limits.losses {
            self = .deadLetter
        } else if job.deadline <= now {
            self = .end(.expired)
        } else if let request = job.request {
            self = .attempt(request)
        } else {
            self = .end(.failed)
        }
    }
}

package protocol JobRunner: Sendable {
    func run(_ job: VerificationJob, _ request: JobRequest) async -> JobOutcome
}

package enum JobOutcome: Hashable, Sendable {
    case decided(JobResult)
    case waiting(JobResult, JobObstacle)
    /// This node does not know the client, or the client may not use the app.
    case impossible
}

/// The reason why an attempt brought no final verdict.
package enum JobObstacle: Hashable, Sendable {
    /// Apple answered this request in a way that may change, or not at all. Without a reason it was not sent.
    case request(DegradedReason?)
    /// Apple cannot be called at all now, or not so often: other jobs of the lane would not get further.
    case upstream(DegradedReason)
}

package enum JobEvent: Hashable, Sendable {
    case created
    /// A request was answered with a job that there was already.
    case joined
    /// A request should have been deferred, and was not.
    case refused(JobRefusal)
    case attempted(JobAttemptEnd)
    /// - Parameter after: the time since the job was created.
    case ended(JobStatus, after: Duration)
    /// The job ended the process of its worker too often. It follows `ended`.
    case deadLettered
    /// The state of the queue, for all nodes together.
    case surveyed(JobSurvey)
}

/// The end of an attempt. The raw values appear in metrics.
package enum JobAttemptEnd: String, CaseIterable, Hashable, Sendable {
    case decided
    /// Apple answered this request in a way that may change, or not at all.
    case request
    /// Apple cannot be called at all now, or not so often.
    case upstream
    /// There will be no verdict.
    case impossible

    package init(_ outcome: JobOutcome) {
        self =
            switch outcome {
            case .decided: .decided
            case .waiting(_, .request): .request
            case .waiting(_, .upstream): .upstream
            case .impossible: .impossible
            }
    }
}
