// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import API
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Telemetry

/// The handling of deferred verifications: the port of the routes, and the service that repeats them.
struct JobHandling: Sendable {
    let deferral: Deferral
    let watcher: JobWatcher
    let service: JobService

    init(
        _ rules: JobRules, _ fleet: FleetStore, access: CurrentAccess, verification: VerificationService,
        ownership: OwnershipCheck, metrics: GatewayMetrics, onEvents: @escaping @Sendable (AppPartition) -> Void,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        let watcher = JobWatcher(fleet.jobs)
        let dispatcher = JobDispatcher(
            store: fleet.jobs,
            runner: VerificationRunner(
                verification, store: fleet.jobs, access: access, ownership: ownership, clock: clock),
            events: fleet.events, observe: metrics.jobs.observe, onEnd: { watcher.announce($0) },
            onEvents: { partition in
                metrics.notifications.observe(.event(.verificationCompleted))
                onEvents(partition)
            }, clock: clock)
        deferral = Deferral(
            fleet.jobs, rules: rules, verification: verification, observe: metrics.jobs.observe,
            onCreate: dispatcher.announce, clock: clock)
        service = JobService(dispatcher: dispatcher)
        self.watcher = watcher
    }
}

/// Repeats deferred verifications until the shutdown. Attempts in flight end first; other nodes take the rest.
struct JobService: Service {
    let dispatcher: JobDispatcher

    func run() async throws {
        await cancelWhenGracefulShutdown { await dispatcher.run() }
    }
}
