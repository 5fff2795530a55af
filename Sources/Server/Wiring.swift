// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Endpoints
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Operations
internal import PrometheusExport
internal import RateLimits
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry
internal import Tracing

/// The dependencies from outside the configuration. Tests replace them.
struct Dependencies: Sendable {
    var logger: Logger
    /// The level of `logger`, and the selection of request lines.
    var logSettings = LogSettings()
    /// Receives the log lines of requests; nil for none.
    var requestLines: LogBatcher?
    /// Returns the number of log lines dropped because the output was too slow.
    var droppedLogLines: @Sendable () -> Int = { 0 }
    var tracer: (any Tracer)?
    var shutdownRequests: AsyncStream<ShutdownRequest>
    var clock: @Sendable () -> Timestamp = { .now() }
    /// The source of configuration reloads; nil for none.
    var reloading: Reloading?
    /// Called with the port of each listener once it is open.
    var onListening: @Sendable (ListenerPlane, Int) async -> Void = { _, _ in }
}

/// The complete gateway, ready to run.
struct GatewayServer: Sendable {
    /// Runs both listeners until a request to stop.
    let services: ServiceGroup
    let lifecycle: ServerLifecycle
    let bodyBudget: BodyBudget
    let metrics: PrometheusRegistry
    let reloads: ReloadHistory
    /// The routes of the data plane.
    let routes: RouteTable
}

/// Builds the gateway: the only place where its parts are connected. Both the command and the tests call it.
/// - Throws: the faults of the files that the configuration names.
func buildGatewayServer(
    _ configuration: GatewayConfiguration, in dependencies: Dependencies
) throws(ConfigurationProblems) -> GatewayServer {
    try checkOpenSSL()
    let lifecycle = ServerLifecycle()
    let budget = BodyBudget(configuration.http.limits.bodiesInFlight)
    let upstreams = UpstreamState(configuration.apple)
    let storeHealth = StoreHealth(
        isEmbedded: configuration.redis.url == nil, expectedNodes: configuration.redis.expectedNodes)
    let access = try CurrentAccess(configuration, in: dependencies)
    let metrics = GatewayMetrics(
        lifecycle: lifecycle, bodyBudget: budget, access: access, upstreams: upstreams, store: storeHealth,
        sampling: configuration.log.sampling, in: dependencies)
    let verifier = try ReceiptVerifier(configuration, metrics.certificates)
    let fleet = try FleetStore(
        configuration, upstreams: upstreams, health: storeHealth, metrics: metrics.store,
        certificates: metrics.certificates, clock: dependencies.clock, logger: dependencies.logger)
    let apple = try AppleConnection(
        configuration.apple, access: access, upstreams: upstreams, fleet: fleet, verifier: verifier,
        observer: metrics.upstream, in: dependencies)
    let verification = VerificationService(
        verifier: verifier, apple: apple?.verification, onVerification: dependencies.tracing.onVerification)
    let slots = MeteredInFlightLimiter(
        slots: EmbeddedInFlightLimiter { storeHealth.liveNodes }, metrics: metrics.limits)
    let handler = VerifyHandler(
        configuration, admission: ClientAdmission(rates: fleet.ports.limiter, slots: slots),
        verification: verification, access: access, metrics: metrics, lifecycle: upstreams.lifecycle, in: dependencies)
    let health = NodeHealth(lifecycle: lifecycle, store: storeHealth)
    let routes = RouteTable([
        handler.route(at: VerdictEndpoint()),
        handler.route(at: DropInEndpoint(undecidedReply: configuration.undecidedReply)),
        .verifyReceiptByGet(announcing: upstreams.lifecycle),
        .status(health, upstreams, isAppleEnabled: configuration.apple.isEnabled, clock: dependencies.clock),
        PurgeRoute(invalidation: apple?.invalidation).route,
    ])
    let data = dataPlane(configuration, routes, access, metrics, budget, lifecycle, dependencies)
    let reloads = ReloadHistory()
    let sources = StatusSources(
        configuration, health: health, upstreams: upstreams, reloads: reloads, bodyBudget: budget,
        registry: metrics.registry, clock: dependencies.clock)
    let shutdown = ShutdownService(
        requests: dependencies.shutdownRequests, lifecycle: lifecycle, drainDelay: configuration.shutdown.drainDelay,
        logger: dependencies.logger)
    let foundations: [(any Service)?] = [
        fleet.service, apple.map { TransportService(transport: $0.transport) },
        ReloadService(configuration, access, reloads, metrics.reload, in: dependencies),
    ]
    return GatewayServer(
        services: serviceGroup(
            foundations.compactMap { $0 }, adminPlane(configuration, sources, metrics.registry, dependencies) + [data],
            shutdown, configuration.shutdown, dependencies.logger),
        lifecycle: lifecycle, bodyBudget: budget, metrics: metrics.registry, reloads: reloads, routes: routes)
}

extension VerifyHandler {
    fileprivate convenience init(
        _ configuration: GatewayConfiguration, admission: ClientAdmission, verification: VerificationService,
        access: CurrentAccess, metrics: GatewayMetrics, lifecycle: UpstreamLifecycle,
        in dependencies: Dependencies
    ) {
        let charging = RequestCharging(
            addresses: configuration.http.remoteAddresses,
            sendsLegacyFields: configuration.http.sendsLegacyRateLimitFields, metrics: metrics.limits)
        self.init(
            admission: admission, verification: verification, access: access, charging: charging,
            metrics: metrics.verification, nearCache: NearCache(maximumBytes: configuration.nearCacheSize.bytes),
            lifecycle: lifecycle, clock: dependencies.clock)
    }
}

private func dataPlane(
    _ configuration: GatewayConfiguration, _ routes: RouteTable, _ access: CurrentAccess, _ metrics: GatewayMetrics,
    _ budget: BodyBudget, _ lifecycle: ServerLifecycle, _ dependencies: Dependencies
) -> any Service {
    let http = configuration.http
    let rules = EdgeRules(http, shutdown: configuration.shutdown) { credentials in
        try? access.now.authenticator.client(with: credentials, at: dependencies.clock())
    }
    let edge = Edge(
        rules: rules, budget: budget, lifecycle: lifecycle,
        pipeline: RequestPipeline(
            routes: routes,
            log: RequestLog(
                logger: dependencies.logger, lines: dependencies.requestLines, settings: dependencies.logSettings,
                sampler: metrics.sampler, tracing: dependencies.tracing), logger: dependencies.logger),
        metrics: metrics.edge, sources: SourceLimits(http.limits, http.remoteAddresses))
    return listener(.data, on: http.listener, limits: http.limits, edge: edge, dependencies) {
        lifecycle.advance(to: .ready)
    }
}

/// Returns the listener for orchestrators and operators. The same edge with small limits: no client sends bodies here.
/// Requests are not logged.
private func adminPlane(
    _ configuration: GatewayConfiguration, _ sources: StatusSources, _ registry: PrometheusRegistry,
    _ dependencies: Dependencies
) -> [any Service] {
    var http = configuration.http
    http.limits.body = .kibibytes(64)
    http.limits.connections = 256
    (http.limits.connectionsPerAddress, http.limits.requestsPerAddress) = (0, 0)
    var rules = EdgeRules(http, shutdown: configuration.shutdown)
    rules.hosts = HostRule(names: configuration.adminHostNames.adding(hostOf: configuration.admin))
    let board = StatusBoard(sources)
    let routes = RouteTable(
        sources.health.routes + [.metrics(registry)] + board.routes
            + LogLevelRoute(
                settings: dependencies.logSettings, logger: dependencies.logger, clock: dependencies.clock
            ).routes,
        authenticationElsewhere: .none)
    let edge = Edge(
        rules: rules, budget: BodyBudget(.mebibytes(1)), lifecycle: sources.health.lifecycle,
        pipeline: RequestPipeline(routes: routes, log: RequestLog(logger: nil), logger: dependencies.logger),
        sources: SourceLimits(http.limits, http.remoteAddresses))
    let admin = listener(.admin, on: configuration.admin, limits: http.limits, edge: edge, dependencies)
    return [admin, StatusService(board: board)]
}

private func listener(
    _ listener: ListenerPlane, on address: ListenerConfiguration, limits: HTTPLimits, edge: Edge,
    _ dependencies: Dependencies, onRunning: @escaping @Sendable () -> Void = {}
) -> any Service {
    HTTPListener(plane: listener, address: address, limits: limits, edge: edge, logger: dependencies.logger) { port in
        onRunning()
        await dependencies.onListening(listener, port)
    }
}

extension Route {
    /// `GET /metrics`, for Prometheus.
    fileprivate static func metrics(_ registry: PrometheusRegistry) -> Route {
        Route(.get, "/metrics", authentication: .none, on: .thread) { _ in
            Reply(
                fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ByteBuffer(string: registry.text()))
        }
    }
}

/// Returns the group, which stops its services in reverse order: when `shutdown` returns, first the data plane, then
/// the updates of the status page, then the admin plane, then the foundations of requests.
private func serviceGroup(
    _ foundations: [any Service], _ listeners: [any Service], _ shutdown: ShutdownService,
    _ configuration: ShutdownConfiguration, _ logger: Logger
) -> ServiceGroup {
    let services = (foundations + listeners).map {
        ServiceGroupConfiguration.ServiceConfiguration(service: UnprintedService(service: $0))
    }
    let last = ServiceGroupConfiguration.ServiceConfiguration(
        service: UnprintedService(service: shutdown), successTerminationBehavior: .gracefullyShutdownGroup)
    var group = ServiceGroupConfiguration(services: services + [last], logger: logger)
    // The edge ends its connections within the grace period; those that remain a little later are cancelled.
    group.maximumGracefulShutdownDuration = configuration.grace + .seconds(5)
    return ServiceGroup(configuration: group)
}

extension Dependencies {
    var tracing: RequestTracing { RequestTracing(tracer: tracer) }
}

extension ReceiptVerifier {
    fileprivate convenience init(
        _ configuration: GatewayConfiguration, _ certificates: CertificateInventory
    ) throws(ConfigurationProblems) {
        var policy = VerificationPolicy()
        policy.clockSkew = configuration.verification.clockSkew
        policy.expiryGrace = configuration.verification.expiryGrace
        let trustStore = try TrustStore(adding: configuration.trustRoots)
        for anchor in trustStore.anchors { certificates.configured(.trustRoot, until: anchor.expires) }
        self.init(trustStore: trustStore, policy: policy, onNewChain: certificates.saw)
    }
}

/// Checks that OpenSSL offers what receipts and API keys need. Without it their code traps.
func checkOpenSSL() throws(ConfigurationProblems) {
    do throws(OpenSSLFault) {
        try ReceiptVerifier.checkOpenSSL()
    } catch {
        throw ConfigurationProblems(problems: [ConfigurationProblem(location: "OpenSSL", fault: error.description)])
    }
}

extension CurrentAccess {
    /// Starts with the clients file as first read.
    fileprivate convenience init(
        _ configuration: GatewayConfiguration, in dependencies: Dependencies
    ) throws(ConfigurationProblems) {
        let files = dependencies.reloading?.files ?? FileReadings()
        let file = try ClientsFile(configuration, at: dependencies.clock(), readFile: files.read)
        self.init(Access(AccessRules(configuration, file)))
    }
}

extension ReloadService {
    fileprivate init?(
        _ configuration: GatewayConfiguration, _ access: CurrentAccess, _ history: ReloadHistory,
        _ metrics: ReloadMetrics, in dependencies: Dependencies
    ) {
        guard let reloading = dependencies.reloading else { return nil }
        self.init(
            reloader: Reloader(reloading.source, files: reloading.files, configuration, access),
            occasions: reloading.occasions, history: history, metrics: metrics, clock: dependencies.clock,
            logger: dependencies.logger)
    }
}

/// A service that prints only its type. The service group logs its services, and a struct is printed with all its
/// fields: configuration, and the secrets in it.
struct UnprintedService: Service, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let service: any Service

    var description: String { "\(type(of: service))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    func run() async throws { try await service.run() }
}
