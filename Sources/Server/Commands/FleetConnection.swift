// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import Logging
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// The connection of a command to the store of the fleet.
struct FleetConnection: Sendable {
    let configuration: GatewayConfiguration
    let access: CurrentAccess
    let upstreams: UpstreamState
    let metrics: GatewayMetrics
    let store: FleetStore
    let dependencies: Dependencies
    private let service: any Service

    enum Limits {
        /// The maximum wait for the first connection to Redis.
        static let connection: Duration = .seconds(5)
        static let pause: Duration = .milliseconds(50)
    }

    init(_ configuration: GatewayConfiguration, needingRedisBecause reason: String) throws(ConfigurationProblems) {
        try checkOpenSSL()
        self.configuration = configuration
        dependencies = .silent
        let file = try ClientsFile(configuration, at: dependencies.clock())
        access = CurrentAccess(Access(AccessRules(configuration, file)))
        upstreams = UpstreamState(configuration.apple)
        let health = StoreHealth(isEmbedded: false, expectedNodes: configuration.redis.expectedNodes)
        metrics = GatewayMetrics(
            configuration, lifecycle: ServerLifecycle(), bodyBudget: BodyBudget(.mebibytes(1)), access: access,
            upstreams: upstreams,
            store: health, in: dependencies)
        store = try FleetStore(
            configuration, upstreams: upstreams, health: health, metrics: metrics.store,
            certificates: metrics.certificates, isNode: false, clock: dependencies.clock, logger: dependencies.logger)
        guard let service = store.service else {
            throw ConfigurationProblems(
                "gateway.redis.url", "is not set: \(reason). Pass their --config, or set GATEWAY_REDIS_URL")
        }
        self.service = service
    }

    /// Runs a body while the connection is open.
    /// - Parameter close: closes what the body used, whatever its outcome.
    func use<Value>(
        _ body: () async throws -> Value, thenClose close: () async -> Void = {}
    ) async throws -> Value {
        let running = Task { try await service.run() }
        await waitForStore()
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        running.cancel()
        _ = await running.result
        await close()
        return try result.get()
    }

    /// Runs a body while the connection is open. If the store does not answer, prints advice and exits with status 1.
    func useOrExit<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await use(body)
        } catch is StoreUnreachable {
            StandardError.write("Redis does not answer. `receipt-gateway doctor` checks the connection.\n")
            throw ExitCode.failure
        }
    }

    /// Waits until Redis answers. If it does not, each later command fails by itself.
    private func waitForStore() async {
        let end = ContinuousClock.now + Limits.connection
        let probe = NotificationIdentity(.sandbox, uuid: "")
        while ContinuousClock.now < end {
            do throws(StoreUnreachable) {
                _ = try await store.notifications.hasSeen(probe, in: AppPartition(bundleID: "", of: probe))
                return
            } catch {
                try? await Task.sleep(for: Limits.pause)
            }
        }
    }
}

extension ConfigurationOptions {
    /// Returns the connection of a command about what gateways store. If the configuration is wrong, prints its problems
    /// and exits.
    func fleet(storing contents: String) throws -> FleetConnection {
        let configuration = try load()
        return try orExit { () throws(ConfigurationProblems) in
            try FleetConnection(
                configuration, needingRedisBecause: "\(contents) are stored in Redis, by the gateways that run")
        }
    }
}
