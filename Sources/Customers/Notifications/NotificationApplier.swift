// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Resilience
internal import Synchronization

/// Applies stored notifications: takes over their signed states, and purges the cached results that they make wrong.
///
/// ```
/// stored ──▶ verify ──▶ purge on all nodes ──▶ newest signed state of each chain ──▶ purge again ──▶ remove
/// ```
/// The new state comes with its events. The first purge keeps their promise that no answer shows an earlier state, also
/// if this node ends next; the second purge ends answers that were made of the earlier state meanwhile.
///
/// Neither repeated steps nor the order of notifications change the states. A node at once applies notifications that
/// it stored itself. A survey of all partitions finds notifications that other nodes left.
package final class NotificationApplier: Sendable {
    package enum Limits {
        package static let surveyInterval: Duration = .seconds(2)
        /// The batches of one partition that are applied before other partitions have their turn.
        static let batches = 16
        /// The attempts to purge, and the time between them.
        static let purges = 3
        static let purgePause: Duration = .milliseconds(200)
        static let concurrentPartitions = 8
        /// The age at which a notification that cannot be applied becomes a dead letter.
        static let attempts: Duration = .seconds(3600)
        /// The evidence that waits to be looked up at Apple; beyond it, the next verification looks it up.
        static let refreshes = 256
    }

    private let queue: any NotificationQueue
    private let states: any CustomerStateStore
    private let purgeResults: CachePurge
    private let verifier: NotificationVerifier
    private let apps: @Sendable () -> Set<String>
    private let refresh: @Sendable (NotifiedRefresh) async -> Void
    private let observe: NotificationObserver
    private let onEvents: @Sendable (AppPartition) -> Void
    private let onSurvey: @Sendable (_ bundleID: String, [QueueSurvey]) -> Void
    private let traces: NotificationTraces
    private let clock: @Sendable () -> Timestamp
    private let stored = Mutex<Set<AppPartition>>([])
    private let wakeUps = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let refreshes = AsyncStream.makeStream(
        of: NotifiedRefresh.self, bufferingPolicy: .bufferingOldest(Limits.refreshes))

    /// - Parameters:
    ///   - apps: returns the apps whose partitions are surveyed.
    ///   - refresh: looks evidence up at Apple, within the limits for requests.
    ///   - onSurvey: receives the state of an app's queue.
    package init(
        queue: any NotificationQueue, states: any CustomerStateStore, purging purgeResults: @escaping CachePurge,
        verifier: NotificationVerifier, apps: @escaping @Sendable () -> Set<String>,
        refresh: @escaping @Sendable (NotifiedRefresh) async -> Void, observe: @escaping NotificationObserver,
        onEvents: @escaping @Sendable (AppPartition) -> Void,
        onSurvey: @escaping @Sendable (_ bundleID: String, [QueueSurvey]) -> Void,
        traces: NotificationTraces = NotificationTraces(),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.queue, self.states, self.purgeResults, self.verifier) = (queue, states, purgeResults, verifier)
        (self.apps, self.refresh, self.observe) = (apps, refresh, observe)
        (self.onEvents, self.onSurvey, self.traces, self.clock) = (onEvents, onSurvey, traces, clock)
    }

    package func announce(_ partition: AppPartition) {
        stored.withLock { _ = $0.insert(partition) }
        wakeUps.continuation.yield()
    }

    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.applyStored() }
            group.addTask { await self.surveyRepeatedly() }
            group.addTask { for await refresh in self.refreshes.stream { await self.refresh(refresh) } }
        }
    }

    private func applyStored() async {
        for await _ in wakeUps.stream {
            let partitions = stored.withLock { stored in
                defer { stored = [] }
                return stored
            }
            await concurrently(partitions) { await self.apply($0, includingStalled: false) }
        }
    }

    private func surveyRepeatedly() async {
        while !Task.isCancelled {
            for bundleID in apps().sorted() { await survey(bundleID) }
            try? await Task.sleep(for: Limits.surveyInterval)
        }
    }

    /// Applies what other nodes left, and reads the state of the queue.
    func survey(_ bundleID: String) async {
        let surveys = Mutex<[QueueSurvey]>([])
        await concurrently(AppPartition.all(of: bundleID)) { partition in
            guard let survey = await self.queue.survey(partition) else { return }
            surveys.withLock { $0.append(survey) }
            if survey.entries > 0 { await self.apply(partition, includingStalled: true) }
            if survey.hasDueEvents { await self.makeDueEvents(in: partition) }
        }
        onSurvey(bundleID, surveys.withLock { $0 })
    }

    private func makeDueEvents(in partition: AppPartition) async {
        for _ in 0..<Limits.batches where !Task.isCancelled {
            let chains = await states.due(in: partition), now = clock()
            guard !chains.isEmpty else { return }
            let cause = EventCause(source: .schedule, signedDate: now)
            let results = await states.merge(chains.map { CustomerStateUpdate(chain: $0, items: [], cause: cause) })
            report(results.flatMap { (try? $0.get())?.events ?? [] }, in: partition)
        }
    }

    private func concurrently(
        _ partitions: some Collection<AppPartition>,
        _ work: @escaping @Sendable (AppPartition) async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for (number, partition) in partitions.reversed().enumerated() {
                if number >= Limits.concurrentPartitions { await group.next() }
                group.addTask { await work(partition) }
            }
        }
    }

    // MARK: - One partition

    package func apply(_ partition: AppPartition, includingStalled: Bool) async {
        for _ in 0..<Limits.batches where !Task.isCancelled {
            let taken = await queue.take(from: partition, includingStalled: includingStalled)
            guard !taken.isEmpty else { return }
            await apply(taken, in: partition)
        }
        // The other partitions have their turn first.
        announce(partition)
    }

    private func apply(_ taken: [TakenNotification], in partition: AppPartition) async {
        var readable: [(taken: TakenNotification, signed: SignedNotification)] = []
        for notification in taken {
            switch read(notification) {
            case .success(let signed): readable.append((notification, signed))
            case .failure(let reason): await leave(notification, reason, in: partition)
            }
        }
        // Also for a state that is known: the node that merged it may have ended before its second purge.
        guard await purge(readable.map(\.signed), in: partition) else { return }
        let results = await states.merge(readable.flatMap(\.signed.updates))
        var next = results[...]
        var applied: [AppliedNotification] = []
        for (notification, signed) in readable {
            let own = next.prefix(signed.updates.count)
            next = next.dropFirst(own.count)
            // A notification that is merged in part is taken again.
            guard let outcomes = try? own.map({ try $0.get() }) else { continue }
            applied.append(AppliedNotification(notification, signed, outcomes, at: clock()))
        }
        report(applied.flatMap(\.events), in: partition)
        await finish(applied, in: partition)
    }

    /// A notification whose states are merged.
    private struct AppliedNotification {
        let taken: TakenNotification
        let signed: SignedNotification
        let changed: Bool
        let events: [Event]
        let ownEvent: Event?

        init(_ taken: TakenNotification, _ signed: SignedNotification, _ outcomes: [MergeOutcome], at now: Timestamp) {
            (self.taken, self.signed) = (taken, signed)
            changed = outcomes.contains(where: \.changed)
            events = outcomes.flatMap(\.events)
            // Without a UUID, as in version 1, nothing proves such a notification: old apps have the secret.
            ownEvent =
                signed.updates.isEmpty && signed.cause.notificationUUID != nil
                ? .notification(signed.cause, bundleID: signed.bundleID, signed.environment, at: now) : nil
        }
    }

    private func report(_ events: [Event], in partition: AppPartition) {
        guard !events.isEmpty else { return }
        for event in events { observe(.event(event.type)) }
        onEvents(partition)
    }

    private func finish(_ applied: [AppliedNotification], in partition: AppPartition) async {
        // Without a change, no answer was made of an earlier state since the first purge.
        guard await purge(applied.filter(\.changed).map(\.signed), in: partition) else { return }
        let finished = applied.map { FinishedNotification(taken: $0.taken, event: $0.ownEvent) }
        guard await queue.finish(finished, in: partition) else { return }
        report(applied.compactMap(\.ownEvent), in: partition)
        for notification in applied {
            observe(.applied(changed: notification.changed, after: notification.taken.age))
            if let refresh = notification.signed.refresh { refreshes.continuation.yield(refresh) }
        }
    }

    /// - Returns: false if the store does not take the purge now; the notifications are taken again later.
    private func purge(_ notifications: [SignedNotification], in partition: AppPartition) async -> Bool {
        // Not all IDs are signed in version 1: the app's secret purges no results of another app.
        let purges = Set(notifications.flatMap(\.outdated)).sorted().map { Purge($0, in: partition.bundleID) }
        if purges.isEmpty { return true }
        for attempt in 1...Limits.purges {
            if (try? await purgeResults(purges)) != nil { return true }
            if attempt < Limits.purges { try? await Task.sleep(for: Limits.purgePause) }
        }
        return false
    }

    private func read(_ taken: TakenNotification) -> Result<SignedNotification, DeadLetterReason> {
        taken.record.flatMap { record in
            do throws(NotificationRejection) {
                var signed = try verifier.verify(record, at: clock())
                signed.join(traces.take(record))
                return .success(signed)
            } catch {
                return .failure(.notGenuine)
            }
        }
    }

    /// Leaves a notification that cannot be applied to another node, and at last to the dead letters.
    private func leave(_ taken: TakenNotification, _ reason: DeadLetterReason, in partition: AppPartition) async {
        guard reason == .unreadable || taken.age >= Limits.attempts else { return }
        if await queue.discard(taken, reason, in: partition) { observe(.deadLetter(reason)) }
    }
}
