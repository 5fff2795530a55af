// SPDX-License-Identifier: Apache-2.0

internal import API
internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import RedisStore
internal import Resilience
internal import Settings
internal import Synchronization
internal import Telemetry

// The wiring of notifications, their recovery, deferred verifications, and the waits for both.
extension Wiring {
    /// Returns the intake of Apple's notifications for the route, the service that applies what is stored, and the losses
    /// that it finds.
    func notifications(
        _ fleet: FleetStore, _ verifier: CurrentVerifier, _ verification: VerificationService,
        _ lookups: LookupStateRecorder, onEvents: @escaping @Sendable (AppPartition) -> Void
    ) -> (intake: NotificationIntake, service: UnprintedService, losses: NotificationLosses) {
        let (access, metrics, clock) = (access, metrics, dependencies.clock)
        let verifier = NotificationVerifier(verifier, apps: NotificationApps(access))
        let stored = AppsOfNotifications(), losses = NotificationLosses()
        let traces = NotificationTraces { TraceScope.current?.context.traceparent }
        let applier = NotificationApplier(
            queue: fleet.notifications, states: fleet.notifications, purging: fleet.purge, verifier: verifier,
            apps: { access.now.servedApps ?? stored.bundleIDs },
            refresh: { [limiter = fleet.ports.limiter] refresh in
                // A purge has ended the old answer. Without a new answer, the next verification fetches it.
                guard await limiter.admit([refresh.charge]).isAdmitted else { return }
                let request = VerificationRequest(evidence: refresh.evidence, mode: .apple)
                _ = try? await verification.answer(request, at: clock()).value()
            },
            observe: metrics.notifications.observe, onEvents: onEvents,
            onSurvey: { bundleID, surveys in
                metrics.notificationSurveys.record(surveys, ofApp: bundleID)
                losses.record(surveys, ofApp: bundleID)
                for survey in surveys { metrics.notifications.report(survey.fault) }
            }, traces: traces, clock: clock)
        let intake = NotificationIntake(
            verifier, queue: fleet.notifications, observe: metrics.notifications.observe, traces: traces
        ) {
            stored.insert($0.bundleID)
            applier.announce($0)
        }
        // Notifications that are left wait in the store for other nodes.
        let service = UnprintedService(named: "NotificationService") {
            await withDiscardingTaskGroup { group in
                group.addTask { await applier.run() }
                group.addTask { await lookups.run() }
            }
        }
        return (intake, service, losses)
    }

    /// Returns the service that recovers missed notifications, and at once what the store lost; nil if Apple is
    /// disabled, or no notifications are stored.
    func recovery(
        from client: ServerAPIClient?, into intake: NotificationIntake, _ losses: NotificationLosses,
        _ fleet: FleetStore
    ) -> UnprintedService? {
        guard let client, configuration.keepsNotifications else { return nil }
        let recovery = NotificationRecovery(
            from: ServerAPINotificationHistory(client, timeout: configuration.apple.timeouts.deadline), into: intake,
            progress: fleet.notifications, apps: { [access] in access.now.servedApps ?? [] },
            interval: configuration.notifications.recoveryInterval,
            startDelay: .seconds(Double.random(in: NotificationRecovery.Limits.startDelay)),
            observe: metrics.notifications.observe, clock: dependencies.clock)
        return UnprintedService(named: "RecoveryService") {
            await withDiscardingTaskGroup { group in
                group.addTask { await recovery.run() }
                group.addTask {
                    for await loss in losses.stream { recovery.recoverNow(loss.bundleID, since: loss.age) }
                }
            }
        }
    }

    /// Returns the port of the routes that defer verifications, the waits for their ends, the service that repeats them, and
    /// what makes it take no more of them.
    func jobs(
        _ fleet: FleetStore, _ verification: VerificationService, _ ownership: OwnershipCheck,
        onEvents: @escaping @Sendable (AppPartition) -> Void
    ) -> (deferral: Deferral, watcher: JobWatcher, service: UnprintedService, drain: @Sendable () -> Void) {
        let (metrics, clock) = (metrics, dependencies.clock), watcher = JobWatcher(fleet.jobs)
        let dispatcher = JobDispatcher(
            store: fleet.jobs,
            runner: tracing.traced(
                VerificationRunner(
                    verification, store: fleet.jobs, access: access, ownership: ownership, clock: clock)),
            events: fleet.events, observe: metrics.jobs.observe, onEnd: { watcher.announce($0) },
            onEvents: { partition in
                metrics.notifications.observe(.event(.verificationCompleted))
                onEvents(partition)
            }, clock: clock)
        let deferral = Deferral(
            fleet.jobs, rules: configuration.jobs, verification: verification, observe: metrics.jobs.observe,
            onCreate: dispatcher.announce, clock: clock)
        // Attempts in flight end first; other nodes take the rest.
        let service = UnprintedService(named: "JobService", untilShutdown: dispatcher.run)
        return (deferral, watcher, service, dispatcher.drain)
    }
}

extension NotifiedRefresh {
    /// The charge of a look-up. Old versions of an app have the secret of version 1, which must not use up the requests to
    /// Apple.
    fileprivate var charge: RateCharge {
        let policy = RatePolicy(name: "notification_refresh", quota: 5, window: .seconds(1))
        // No client has an empty name.
        return RateCharge(RateBucket(client: "", policy: policy, subject: bundleID))
    }
}

extension NotificationApps {
    init(_ access: CurrentAccess) {
        self.init(
            isConfigured: { access.now.servesApp($0) },
            appAppleID: { access.now.rules.serverAPIKeys.appAppleIDs[$0] },
            isSharedSecret: { access.now.rules.secrets.isSecret($0, ofApp: $1) })
    }
}

/// The apps whose notifications this process has stored: those that are surveyed without a clients file.
private final class AppsOfNotifications: Sendable {
    private enum Limits {
        /// Without a clients file only this machine is served. Notifications of further apps are applied when they are
        /// stored, and not surveyed.
        static let apps = 100
    }

    private let apps = Mutex<Set<String>>([])

    var bundleIDs: Set<String> { apps.withLock { $0 } }

    func insert(_ bundleID: String) {
        apps.withLock { apps in if apps.count < Limits.apps { apps.insert(bundleID) } }
    }
}

/// The losses of notifications that surveys of the store have found, until they are recovered.
struct NotificationLosses: Sendable {
    enum Limits {
        /// The maximum number of losses that wait, one loss for each app.
        static let waiting = 10_000
    }

    /// The loss of all notifications of an app after the newest notification that the store still knows.
    struct Loss: Sendable {
        let bundleID: String
        /// The time since that notification.
        let age: Duration
    }

    let stream: AsyncStream<Loss>
    private let continuation: AsyncStream<Loss>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Limits.waiting))
    }

    /// Records the loss that a survey of an app's partitions has found, if any.
    func record(_ surveys: [QueueSurvey], ofApp bundleID: String) {
        guard let age = surveys.compactMap(\.lostSince).max() else { return }
        continuation.yield(Loss(bundleID: bundleID, age: age))
    }
}

extension EventRouteSettings {
    init(_ configuration: GatewayConfiguration) {
        self.init(
            isStored: configuration.keepsNotifications,
            keepsSignedData: configuration.events.rules.keepsSignedData)
    }
}
