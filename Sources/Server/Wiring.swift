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

/// What the wiring takes from outside the configuration. Tests replace it.
struct Dependencies: Sendable {
    /// Where everything is logged.
    var logger: Logger
    /// What is logged: what `logger` goes by.
    var logSettings = LogSettings()
    /// Takes the log lines of requests; nil for none.
    var requestLines: LogBatcher?
    /// How many log lines nobody took in time.
    var droppedLogLines: @Sendable () -> Int = { 0 }
    /// Who keeps the spans of requests; nil if nobody does.
    var tracer: (any Tracer)?
    /// The orders to stop.
    var shutdownRequests: AsyncStream<ShutdownRequest>
    /// The time.
    var clock: @Sendable () -> Timestamp = { .now() }
    /// How the configuration is read again; nil if it is not.
    var reloading: Reloading?
    /// Told the port of each listener once it is open.
    var onListening: @Sendable (ListenerPlane, Int) async -> Void = { _, _ in }
}

/// The whole gateway, ready to run.
struct GatewayServer: Sendable {
    /// Runs both listeners until an order to stop.
    let services: ServiceGroup
    /// Where the process is in its life.
    let lifecycle: ServerLifecycle
    /// The memory for request bodies.
    let bodyBudget: BodyBudget
    /// What is counted.
    let metrics: PrometheusRegistry
    /// What came of the last reload.
    let reloads: ReloadHistory
    /// The routes of the data plane.
    let routes: RouteTable
}

/// Puts the gateway together: the only place where parts meet. The command and the tests both call it.
/// - Throws: What is wrong with the files the configuration names.
func buildGatewayServer(
    _ configuration: GatewayConfiguration, in dependencies: Dependencies
) throws(ConfigurationProblems) -> GatewayServer {
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
    let status = StatusRoute(
        lifecycle: lifecycle, upstreams: upstreams, asksApple: configuration.apple.isEnabled, store: storeHealth,
        clock: dependencies.clock)
    let routes = RouteTable([
        handler.route(at: VerdictEndpoint()),
        handler.route(at: DropInEndpoint(undecidedReply: configuration.undecidedReply)),
        .verifyReceiptByGet(announcing: upstreams.lifecycle), status.route,
        PurgeRoute(invalidation: apple?.invalidation).route,
    ])
    let data = dataPlane(configuration, routes, access, metrics, budget, lifecycle, dependencies)
    let reloads = ReloadHistory()
    let sources = StatusSources(
        configuration, health: NodeHealth(lifecycle: lifecycle, store: storeHealth), upstreams: upstreams,
        reloads: reloads, bodyBudget: budget, registry: metrics.registry, clock: dependencies.clock)
    let shutdown = ShutdownService(configuration.shutdown, lifecycle, dependencies)
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
    /// A handler as configured.
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
            metrics: metrics.verification, nearCache: NearCache(maximumBytes: configuration.nearCache.size.bytes),
            lifecycle: lifecycle, clock: dependencies.clock)
    }
}

/// The listener of clients.
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
            routes: routes, log: RequestLog(metrics.sampler, in: dependencies), logger: dependencies.logger),
        metrics: metrics.edge, sources: SourceLimits(http.limits, http.remoteAddresses))
    return listener(.data, on: http.listener, limits: http.limits, edge: edge, dependencies) {
        lifecycle.advance(to: .ready)
    }
}

/// Where the orchestrator asks, and people look. The same edge with little room: no client sends bodies here, and probes are
/// not logged.
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
        sources.health.routes + [.metrics(registry)] + StatusRoutes(board: board).routes
            + LogLevelRoute(in: dependencies).routes,
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
    /// `GET /metrics`: everything that was counted, for Prometheus.
    fileprivate static func metrics(_ registry: PrometheusRegistry) -> Route {
        Route(.get, "/metrics", authentication: .none, on: .thread) { _ in
            Reply(
                fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ByteBuffer(string: registry.text()))
        }
    }
}

/// The group stops its services in reverse order: when `shutdown` returns, first the data plane, then what is told to those
/// who look at the status page, then the admin plane, then what requests depend on.
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
    // The edge ends its connections within the grace period; what is left a little later is cancelled.
    group.maximumGracefulShutdownDuration = configuration.grace + .seconds(5)
    return ServiceGroup(configuration: group)
}

extension Dependencies {
    /// Where the spans of requests go.
    var tracing: RequestTracing { RequestTracing(tracer: tracer) }
}

extension RequestLog {
    /// The data plane's.
    fileprivate init(_ sampler: RequestSampler, in dependencies: Dependencies) {
        self.init(
            logger: dependencies.logger, lines: dependencies.requestLines, settings: dependencies.logSettings,
            sampler: sampler, tracing: dependencies.tracing)
    }
}

extension LogLevelRoute {
    fileprivate init(in dependencies: Dependencies) {
        self.init(settings: dependencies.logSettings, logger: dependencies.logger, clock: dependencies.clock)
    }
}

extension ShutdownService {
    /// Stops as configured.
    fileprivate init(
        _ configuration: ShutdownConfiguration, _ lifecycle: ServerLifecycle, _ dependencies: Dependencies
    ) {
        self.init(
            requests: dependencies.shutdownRequests, lifecycle: lifecycle, drainDelay: configuration.drainDelay,
            logger: dependencies.logger)
    }
}

extension ReceiptVerifier {
    /// Judges as configured.
    fileprivate convenience init(
        _ configuration: GatewayConfiguration, _ certificates: CertificateInventory
    ) throws(ConfigurationProblems) {
        var policy = VerificationPolicy()
        policy.clockSkew = configuration.verification.clockSkew
        policy.expiryGrace = configuration.verification.expiryGrace
        do throws(OpenSSLFault) {
            try ReceiptVerifier.checkOpenSSL()
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(location: "OpenSSL", fault: error.description)])
        }
        let trustStore = try TrustStore(adding: configuration.trustRoots)
        for anchor in trustStore.anchors { certificates.configured(.trustRoot, until: anchor.expires) }
        self.init(trustStore: trustStore, policy: policy, onNewChain: certificates.saw)
    }
}

extension CurrentAccess {
    /// Begins with what the clients file says, as it was read for the first time.
    fileprivate convenience init(
        _ configuration: GatewayConfiguration, in dependencies: Dependencies
    ) throws(ConfigurationProblems) {
        let files = dependencies.reloading?.files ?? FileReadings()
        let file = try ClientsFile(configuration, at: dependencies.clock(), readFile: files.read)
        self.init(Access(AccessRules(configuration, file)))
    }
}

extension ReloadService {
    /// Reads the configuration again; nil if nobody says where it comes from.
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
