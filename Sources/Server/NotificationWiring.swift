// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import Resilience
internal import ServiceLifecycle
internal import Synchronization
internal import Telemetry

/// The handling of Apple's notifications: the intake for the route, and the service that applies what is stored.
struct NotificationHandling: Sendable {
    let intake: NotificationIntake
    let service: NotificationService
    let losses: NotificationLosses
}

extension NotificationHandling {
    init(
        _ fleet: FleetStore, access: CurrentAccess, verifier: ReceiptVerifier, verification: VerificationService,
        lookups: LookupStateRecorder, metrics: GatewayMetrics, onEvents: @escaping @Sendable (AppPartition) -> Void,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        let verifier = NotificationVerifier(verifier, apps: NotificationApps(access))
        let stored = AppsOfNotifications(), losses = NotificationLosses()
        let applier = NotificationApplier(
            queue: fleet.notifications, states: fleet.notifications, purging: fleet.ports.cache.purges,
            verifier: verifier,
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
            }, clock: clock)
        intake = NotificationIntake(verifier, queue: fleet.notifications, observe: metrics.notifications.observe) {
            stored.insert($0.bundleID)
            applier.announce($0)
        }
        service = NotificationService(applier: applier, lookups: lookups)
        self.losses = losses
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

/// Applies stored notifications, and records the answers of lookups, until the shutdown. Notifications that are left wait
/// in the store for other nodes.
struct NotificationService: Service {
    let applier: NotificationApplier
    let lookups: LookupStateRecorder

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await applier.run() }
                group.addTask { await lookups.run() }
            }
        }
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
