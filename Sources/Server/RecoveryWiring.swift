// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// Recovers missed notifications until the shutdown, and at once what the store lost.
struct RecoveryService: Service {
    let recovery: NotificationRecovery
    let losses: NotificationLosses

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await recovery.run() }
                group.addTask {
                    for await loss in losses.stream { recovery.recoverNow(loss.bundleID, since: loss.age) }
                }
            }
        }
    }
}

extension RecoveryService {
    /// Creates the service; nil if Apple is disabled, or no notifications are stored.
    init?(
        _ configuration: GatewayConfiguration, from client: ServerAPIClient?, into handling: NotificationHandling,
        _ fleet: FleetStore, access: CurrentAccess, metrics: GatewayMetrics, clock: @escaping @Sendable () -> Timestamp
    ) {
        guard let client, configuration.redis.url != nil || configuration.notifications.allowsVolatile else {
            return nil
        }
        recovery = NotificationRecovery(
            from: ServerAPINotificationHistory(client, timeout: configuration.apple.timeouts.deadline),
            into: handling.intake,
            progress: fleet.notifications, apps: { access.now.servedApps ?? [] },
            interval: configuration.notifications.recoveryInterval,
            startDelay: .seconds(Double.random(in: NotificationRecovery.Limits.startDelay)),
            observe: metrics.notifications.observe, clock: clock)
        losses = handling.losses
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
