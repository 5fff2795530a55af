// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPServer
internal import HTTPTransport
internal import Logging
internal import Notifications
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// The connections of a command about notifications: to Apple's history, and to the store of the fleet.
struct NotificationConnections: Sendable {
    let history: ServerAPINotificationHistory
    let store: any NotificationStore
    let intake: NotificationIntake
    /// The apps to work on: the required one, or all served ones that have a key, in alphabetical order.
    let apps: [String]
    private let storeService: any Service
    private let transport: HTTPTransport

    enum Limits {
        /// The maximum wait for the first connection to Redis.
        static let connection: Duration = .seconds(5)
        static let pause: Duration = .milliseconds(50)
    }

    /// - Parameter app: an app that must be served and have a key; nil for all that are and have.
    init(_ configuration: GatewayConfiguration, requiring app: String?) throws(ConfigurationProblems) {
        try checkOpenSSL()
        let dependencies = Dependencies(
            logger: Logger(label: "notifications") { _ in SwiftLogNoOpLogHandler() },
            shutdownRequests: AsyncStream { $0.finish() })
        let access = CurrentAccess(
            Access(AccessRules(configuration, try ClientsFile(configuration, at: dependencies.clock()))))
        apps = try access.now.appsWithHistory(requiring: app)
        let upstreams = UpstreamState(configuration.apple)
        let health = StoreHealth(isEmbedded: false, expectedNodes: configuration.redis.expectedNodes)
        let metrics = GatewayMetrics(
            lifecycle: ServerLifecycle(), bodyBudget: BodyBudget(.mebibytes(1)), access: access, upstreams: upstreams,
            store: health, in: dependencies)
        let verifier = try ReceiptVerifier(configuration, metrics.certificates)
        let fleet = try FleetStore(
            configuration, upstreams: upstreams, health: health, metrics: metrics.store,
            certificates: metrics.certificates, isNode: false, clock: dependencies.clock, logger: dependencies.logger)
        guard let service = fleet.service else {
            throw ConfigurationProblems(
                "gateway.redis.url", "is not set: notifications are stored in Redis, for the gateways that run")
        }
        let connection = try AppleConnection(
            configuration.apple, access: access, upstreams: upstreams, fleet: fleet, verifier: verifier,
            observer: metrics.upstream, in: dependencies)
        guard let connection else {
            throw ConfigurationProblems("gateway.apple.enabled", "is false: the command sends requests to Apple")
        }
        (storeService, transport, store) = (service, connection.transport, fleet.notifications)
        history = ServerAPINotificationHistory(connection.serverAPI, timeout: configuration.apple.deadline)
        intake = NotificationIntake(
            NotificationVerifier(verifier, apps: NotificationApps(access)), queue: fleet.notifications,
            observer: metrics.notifications, onStored: { _ in })
    }

    /// Runs a body while the connections are open.
    func use<Value>(_ body: () async throws -> Value) async throws -> Value {
        let service = Task { try await storeService.run() }
        await waitForStore()
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        service.cancel()
        _ = await service.result
        await transport.shutdown()
        return try result.get()
    }

    /// Waits until Redis answers. If it does not, each later command fails by itself.
    private func waitForStore() async {
        let end = ContinuousClock.now + Limits.connection
        let probe = NotificationIdentity(.sandbox, uuid: "")
        while ContinuousClock.now < end {
            do throws(StoreUnreachable) {
                _ = try await store.hasSeen(probe, in: NotificationPartition(bundleID: "", of: probe))
                return
            } catch {
                try? await Task.sleep(for: Limits.pause)
            }
        }
    }
}

extension Access {
    /// Returns the served apps that have a key of the App Store Server API.
    /// - Parameter app: the only one to return; nil for all.
    fileprivate func appsWithHistory(requiring app: String?) throws(ConfigurationProblems) -> [String] {
        let served = servedApps ?? []
        let apps = served.filter { rules.serverAPIKeys.key(forApp: $0) != nil }
        guard let app else {
            guard !apps.isEmpty else {
                throw ConfigurationProblems(
                    "gateway.clients_file", "names no app with a key of the App Store Server API")
            }
            return apps.sorted()
        }
        guard served.contains(app) else {
            throw ConfigurationProblems("gateway.clients_file", "does not name the app \(app.printable())")
        }
        guard apps.contains(app) else {
            throw ConfigurationProblems(
                "gateway.clients_file", "has no key of the App Store Server API for the app \(app.printable())")
        }
        return [app]
    }
}

extension ConfigurationProblems {
    fileprivate init(_ location: String, _ fault: String) {
        self.init(problems: [ConfigurationProblem(location: location, fault: fault)])
    }
}
