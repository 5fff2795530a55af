// SPDX-License-Identifier: Apache-2.0

internal import Gateway
package import Receipts
internal import Synchronization

/// Recovers notifications that did not arrive, or that the store lost, from Apple's notification history.
///
/// ```
/// due ──▶ lease ──▶ span since the last recovery ──▶ unacknowledged, then all ──▶ intake ──▶ record progress
/// ```
/// The intake stores each notification once, so a part of the history may be read again at any time.
package final class NotificationRecovery: Sendable {
    package enum Limits {
        /// The pages of one run, of 20 notifications each. The next run continues after them.
        static let pages = 1000
        static let runTime: Duration = .seconds(300)
        /// The time after which another node may read a history: the time of a run and of its last page.
        static let lease: Duration = .seconds(360)
        static let tick: Duration = .seconds(1)
        /// The seconds from which each node takes its delay before the first run at random.
        package static let startDelay = 5.0...60.0
    }

    private struct Subject: Hashable {
        let bundleID: String
        let environment: Environment

        static func all(of bundleID: String) -> [Subject] {
            [.production, .sandbox].map { Subject(bundleID: bundleID, environment: $0) }
        }
    }

    private struct Run {
        var reading: HistoryReading
        let end: Timestamp
        let recovered: Timestamp?

        init(_ subject: Subject, _ span: RecoverySpan, after recovered: Timestamp?) {
            reading = HistoryReading(
                NotificationHistoryQuery(
                    bundleID: subject.bundleID, environment: subject.environment, start: span.start, end: span.end))
            (end, self.recovered) = (span.end, recovered)
        }
    }

    private struct State {
        var schedules: [Subject: RecoverySchedule] = [:]
        /// The runs that a limit or a fault interrupted, to be continued unless another node was faster.
        var interrupted: [Subject: Run] = [:]
    }

    private let history: any NotificationHistory
    private let progress: any RecoveryProgress
    private let intake: NotificationIntake
    private let apps: @Sendable () -> Set<String>
    private let interval: Duration
    private let startDelay: Duration
    private let observe: NotificationObserver
    private let clock: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - apps: returns the served apps; those without a key are left out.
    ///   - interval: the time between two recoveries by the fleet.
    ///   - startDelay: the time before the first run.
    package init(
        from history: any NotificationHistory, into intake: NotificationIntake, progress: any RecoveryProgress,
        apps: @escaping @Sendable () -> Set<String>, interval: Duration, startDelay: Duration,
        observe: @escaping NotificationObserver, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.history, self.intake, self.progress, self.apps) = (history, intake, progress, apps)
        (self.interval, self.startDelay, self.observe, self.clock) = (interval, startDelay, observe, clock)
    }

    package func run() async {
        while !Task.isCancelled {
            await runDue()
            try? await Task.sleep(for: Limits.tick)
        }
    }

    /// Recovers an app's notifications as soon as possible, because the store lost some. Call it once for each loss.
    /// - Parameter age: the time since the newest notification that the store still knows.
    package func recoverNow(_ bundleID: String, since age: Duration) {
        let now = clock()
        state.withLock { state in
            for subject in Subject.all(of: bundleID) {
                state.schedules[subject, default: newSchedule(at: now)]
                    .recordLoss(since: now.advanced(by: .zero - age), at: now)
            }
        }
    }

    private func newSchedule(at now: Timestamp) -> RecoverySchedule {
        RecoverySchedule(interval: interval, startingAt: now, after: startDelay)
    }

    // MARK: - Runs

    /// Carries out the runs that are due, one after another.
    func runDue() async {
        for subject in dueSubjects(at: clock()) where !Task.isCancelled {
            let outcome = await run(subject), now = clock()
            let isUnknown = state.withLock { state in
                state.schedules[subject]?.record(outcome, at: now)
                return Subject.all(of: subject.bundleID).allSatisfy { state.schedules[$0]?.isAppUnknown ?? false }
            }
            // One environment may be without the app: before its release, or without test customers.
            if isUnknown { observe(.recovery(succeeded: false)) }
        }
    }

    private func dueSubjects(at now: Timestamp) -> [Subject] {
        let subjects = apps().filter(history.isAvailable).sorted().flatMap(Subject.all)
        return state.withLock { state in
            let known = state.schedules
            state.schedules = Dictionary(uniqueKeysWithValues: subjects.map { ($0, known[$0] ?? newSchedule(at: now)) })
            let schedules = state.schedules
            state.interrupted = state.interrupted.filter { schedules[$0.key] != nil }
            return subjects.filter { schedules[$0]?.isDue(at: now) ?? false }
        }
    }

    private func run(_ subject: Subject) async -> RecoverySchedule.Outcome {
        guard await progress.begin(subject.bundleID, subject.environment, lease: Limits.lease) else { return .leased }
        let outcome = await runWithLease(subject)
        await progress.end(subject.bundleID, subject.environment)
        return outcome
    }

    private func runWithLease(_ subject: Subject) async -> RecoverySchedule.Outcome {
        let now = clock(), recovered: Timestamp?
        do throws(StoreUnreachable) {
            recovered = try await self.recovered(subject, at: now)
        } catch {
            // Read as "never", it would leave out everything older than a day, for ever.
            return .leased
        }
        let (isRequired, interrupted) = state.withLock { state in
            let isRequired = state.schedules[subject]?.isRequired(after: recovered, at: now) ?? false
            return (isRequired, state.interrupted.removeValue(forKey: subject))
        }
        if let recovered, !isRequired { return .recovered(upTo: recovered) }
        guard let span = RecoverySpan(after: recovered, in: subject.environment, at: now) else {
            return .recovered(upTo: now)
        }
        var run = Run(subject, span, after: recovered)
        if let interrupted, interrupted.recovered == recovered { run = interrupted }
        return await carryOut(&run, of: subject, until: now.advanced(by: Limits.runTime))
    }

    private func carryOut(
        _ run: inout Run, of subject: Subject, until deadline: Timestamp
    ) async -> RecoverySchedule.Outcome {
        do throws(HistoryReading.Fault) {
            for _ in 0..<Limits.pages where !run.reading.isComplete && clock() < deadline && !Task.isCancelled {
                try await run.reading.readPage(of: history, into: intake, clock: clock)
            }
        } catch {
            if error == .history(.serverAPIKeyRejected) { return .appUnknown }
            if error.permitsContinuation { keep(run, of: subject) }
            // The quota at Apple is used up for now.
            if error == .history(.upstreamBudget) || error == .history(.upstreamPaused) { return .leased }
            if !Task.isCancelled { observe(.recovery(succeeded: false)) }
            return .failed
        }
        guard run.reading.isComplete else {
            keep(run, of: subject)
            return .interrupted
        }
        await progress.record(recovered: run.end, subject.bundleID, subject.environment)
        observe(.recovery(succeeded: true))
        return .recovered(upTo: run.end)
    }

    private func keep(_ run: Run, of subject: Subject) { state.withLock { $0.interrupted[subject] = run } }
}

extension HistoryReading.Fault {
    /// False if Apple rejected the request, or its token: the span is read again from the beginning.
    fileprivate var permitsContinuation: Bool {
        ![.history(.upstreamRequestRefused), .history(.upstreamUnusableAnswer), .history(.upstreamAnswerTooLarge)]
            .contains(self)
    }
}

// MARK: - Progress

extension NotificationRecovery {
    /// Returns the time up to which the fleet has read the history, set back to before a loss; nil if it is unknown.
    private func recovered(_ subject: Subject, at now: Timestamp) async throws(StoreUnreachable) -> Timestamp? {
        let recorded = try await recorded(subject, at: now)
        guard let lost = state.withLock({ $0.schedules[subject]?.lostSince }) else { return recorded }
        guard lost < recorded ?? now.advanced(by: .zero - RecoverySpan.Limits.unknown) else {
            removeLoss(since: lost, of: subject)
            return recorded
        }
        // For another node, too, if this node ends before it has read all.
        await progress.record(recovered: lost, subject.bundleID, subject.environment)
        if try await self.recorded(subject, at: now) == lost { removeLoss(since: lost, of: subject) }
        return lost
    }

    /// Returns the time that is recorded, unless it is far in the future, by a clock that was wrong.
    private func recorded(_ subject: Subject, at now: Timestamp) async throws(StoreUnreachable) -> Timestamp? {
        let recorded = try await progress.recovered(subject.bundleID, subject.environment)
        return recorded.flatMap { $0 <= now.advanced(by: RecoverySpan.Limits.overlap) ? $0 : nil }
    }

    private func removeLoss(since time: Timestamp, of subject: Subject) {
        state.withLock { $0.schedules[subject]?.removeLoss(since: time) }
    }
}
