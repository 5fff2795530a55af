// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import Receipts
internal import RedisStore
internal import Settings
internal import Telemetry

struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Read missed notifications from Apple's history, test their delivery, or list dead letters.",
        discussion: """
            Running gateways recover missed notifications by themselves. These commands are for longer spans, for the \
            setup of the notification URL in App Store Connect, and for notifications that could not be applied.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [BackfillCommand.self, TestNotificationCommand.self, DeadNotificationsCommand.self])
}

extension UpstreamEnvironment: ExpressibleByArgument {}

/// The connections of a command about notifications: to Apple's history, and to the store of the fleet.
struct NotificationConnections: Sendable {
    let history: ServerAPINotificationHistory
    let store: any NotificationStore
    let intake: NotificationIntake
    /// The apps to work on: the required app, or all served apps that have a key, in alphabetical order.
    let apps: [String]
    private let fleet: FleetConnection
    private let transport: HTTPTransport

    /// - Parameter app: an app that must be served and have a key; nil for all such apps.
    init(_ configuration: GatewayConfiguration, requiring app: String?) throws(ConfigurationProblems) {
        fleet = try FleetConnection(
            configuration, needingRedisBecause: "notifications are stored in Redis, for the gateways that run")
        apps = try fleet.access.now.appsWithHistory(requiring: app)
        let verifier = try CurrentVerifier(configuration, fleet.metrics)
        let connection = try AppleConnection(
            configuration.apple, access: fleet.access, upstreams: fleet.upstreams, fleet: fleet.store,
            verifier: verifier, observe: fleet.metrics.upstream.observe, in: fleet.dependencies)
        guard let connection else {
            throw ConfigurationProblems("gateway.apple.enabled", "is false: the command sends requests to Apple")
        }
        (transport, store) = (connection.transport, fleet.store.notifications)
        history = ServerAPINotificationHistory(connection.serverAPI, timeout: configuration.apple.timeouts.deadline)
        intake = NotificationIntake(
            NotificationVerifier(verifier, apps: NotificationApps(fleet.access)), queue: store,
            observe: fleet.metrics.notifications.observe, onStored: { _ in })
    }

    func use<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await fleet.use(body) { await transport.shutdown() }
    }
}

extension Access {
    /// Returns the served apps that have a key of the App Store Server API.
    /// - Parameter app: the only app to return; nil for all.
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
