// SPDX-License-Identifier: Apache-2.0

internal import API
internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import HTTPServer
internal import HTTPTypes
internal import Logging
internal import Operations
internal import Receipts
internal import RedisStore
internal import Resilience
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// The dependencies from outside the configuration. Tests replace them.
struct Dependencies: Sendable {
    var logger: Logger
    /// The level of `logger`, and the selection of request lines.
    var logSettings = LogSettings()
    var requestLines: LogBatcher?
    var droppedLogLines: @Sendable () -> Int = { 0 }
    var shutdownRequests: AsyncStream<ShutdownRequest>
    var clock: @Sendable () -> Timestamp = { .now() }
    var reloading: Reloading?
    /// The reader of files whose changes cause a reload.
    var files: FileReadings { reloading?.files ?? FileReadings() }
    /// Called with the port of each listener once it is open.
    var onListening: @Sendable (ListenerPlane, Int) async -> Void = { _, _ in }

    /// For a command, which logs nothing.
    static var silent: Dependencies {
        Dependencies(
            logger: Logger(label: "command") { _ in SwiftLogNoOpLogHandler() },
            shutdownRequests: AsyncStream { $0.finish() })
    }
}

struct GatewayServer: Sendable {
    /// Runs both listeners until a request to stop.
    let services: ServiceGroup
    let lifecycle: ServerLifecycle
    let bodyBudget: BodyBudget
    let metrics: PrometheusRegistry
    let reloads: ReloadHistory
    let routes: RouteTable
}

/// Builds the gateway: the only place where its parts are connected. Both the command and the tests call it.
/// - Throws: the faults of the files that the configuration names.
func buildGatewayServer(
    _ configuration: GatewayConfiguration, in dependencies: Dependencies
) throws(ConfigurationProblems) -> GatewayServer {
    try checkOpenSSL()
    return try Wiring(configuration, dependencies).server()
}

/// The parts that most others need, and the functions that connect them.
struct Wiring {
    let configuration: GatewayConfiguration
    let dependencies: Dependencies
    let lifecycle = ServerLifecycle()
    let reloads = ReloadHistory()
    let budget: BodyBudget
    let upstreams: UpstreamState
    let storeHealth: StoreHealth
    let access: CurrentAccess
    let certificates: CurrentServerCertificates
    /// Returns the apps that depend on `verifyReceipt`; none if no requests are sent to Apple.
    let appsWithoutKey: @Sendable () -> [String]
    let metrics: GatewayMetrics
    /// Nil if no spans are exported.
    private let traces: TraceExportService?
    var tracing: RequestTracing { traces?.tracing ?? .off }

    init(_ configuration: GatewayConfiguration, _ dependencies: Dependencies) throws(ConfigurationProblems) {
        self.configuration = configuration
        self.dependencies = dependencies
        budget = BodyBudget(configuration.http.limits.bodiesInFlight)
        upstreams = UpstreamState(configuration.apple)
        storeHealth = StoreHealth(
            isEmbedded: configuration.redis.url == nil, expectedNodes: configuration.redis.expectedNodes)
        let clients = try ClientsFile(configuration, at: dependencies.clock(), readFile: dependencies.files.read)
        let answerKeys = try AnswerKeys(configuration, readFile: dependencies.files.read)
        let access = CurrentAccess(Access(AccessRules(configuration, clients, answerKeys)))
        self.access = access
        let isAppleEnabled = configuration.apple.isEnabled
        appsWithoutKey = { isAppleEnabled ? access.now.rules.appsWithoutServerAPIKey : [] }
        metrics = GatewayMetrics(
            configuration, lifecycle: lifecycle, bodyBudget: budget, access: access, upstreams: upstreams,
            store: storeHealth, appsWithoutKey: appsWithoutKey, in: dependencies)
        certificates = CurrentServerCertificates(
            try ServerCertificates(configuration, readFile: dependencies.files.read),
            onChange: metrics.certificates.serves)
        traces = try TraceExportService(configuration.traces, count: metrics.registry, logger: dependencies.logger)
    }

    func server() throws(ConfigurationProblems) -> GatewayServer {
        warnOfStartFaults()
        let verifier = try currentVerifier()
        let fleet = try FleetStore(
            configuration, upstreams: upstreams, health: storeHealth, metrics: metrics.store,
            certificates: metrics.certificates, relays: { [access] in access.now.rules.relays($0) },
            clock: dependencies.clock, logger: dependencies.logger)
        let webhooks = try webhooks(from: fleet), watcher = EventWatcher(fleet.events)
        let onEvents: @Sendable (AppPartition) -> Void = { partition in
            watcher.announce(partition)
            webhooks?.dispatcher.announce(partition)
        }
        let lookups = lookups(into: fleet, onEvents: onEvents)
        let apple = try AppleConnection(
            configuration.apple, access: access, upstreams: upstreams, fleet: fleet, lookups: lookups,
            verifier: verifier, observe: metrics.upstream.observe, tracing: tracing, in: dependencies)
        if let client = apple?.serverAPI { metrics.serverAPI.follow(client) }
        let comparisons = comparisons(apple, into: fleet)
        let verification = VerificationService(
            verifier: verifier, lateRenewal: configuration.events.rules.expiryDelay,
            states: NotifiedStates(fleet.ports, observe: metrics.upstream.observe), apple: apple?.verification,
            comparisons: comparisons, onVerification: tracing.onVerification)
        let notifications = notifications(fleet, verifier, verification, lookups, onEvents: onEvents)
        let charging = charging(by: fleet)
        let ownership = ownership(of: fleet, onEvents: onEvents)
        let jobs = jobs(fleet, verification, ownership, onEvents: onEvents)
        let handler = handler(verification, charging, ownership, jobs.deferral)
        let health = NodeHealth(lifecycle: lifecycle, store: storeHealth)
        let routes = RouteTable(
            verificationRoutes(handler, charging) + [
                statusRoute, .keySet(access), .purge(apple?.invalidation, charging: charging),
                events(of: fleet, watcher, charging),
            ] + customerRoutes(of: fleet, jobs.watcher, charging)
                + routes(of: notifications.intake, charging) + [signatures(charging).route]
                // Its paths are all below `/v1/apple/`.
                + appleProxy(apple, charging).routes
                + health.openRoutes)
        // The first of these ends last: the spans of the last requests are exported.
        let foundations: [UnprintedService?] = [
            traces.map { UnprintedService($0) }, fleet.service.map { UnprintedService($0) },
            webhooks.map { UnprintedService($0) },
            apple.map { UnprintedService("TransportService", atShutdown: $0.transport.shutdown) },
            notifications.service, jobs.service, service(comparisons, fleet),
            recovery(from: apple?.serverAPI, into: notifications.intake, notifications.losses, fleet),
            reloadService(verifier).map { UnprintedService($0) },
        ]
        let planes = adminPlane(health) + [dataPlane(routes)]
        // The waits of requests end before the data plane waits for their connections.
        let waits = [
            UnprintedService("StoreWatcherService<\([AppPartition: EventPosition].self)>", atShutdown: watcher.stop),
            UnprintedService("StoreWatcherService<String>", atShutdown: jobs.watcher.stop),
            // The ends of attempts that begin now would come after the grace period.
            UnprintedService("JobDrain", atShutdown: jobs.drain),
        ]
        return GatewayServer(
            services: group(of: foundations.compactMap(\.self) + planes.map { UnprintedService($0) } + waits),
            lifecycle: lifecycle, bodyBudget: budget, metrics: metrics.registry, reloads: reloads, routes: routes)
    }

    private func lookups(
        into fleet: FleetStore, onEvents: @escaping @Sendable (AppPartition) -> Void
    ) -> LookupStateRecorder {
        LookupStateRecorder(
            fleet.notifications,
            onEvents: { [metrics] partition, events in
                for event in events { metrics.notifications.observe(.event(event.type)) }
                onEvents(partition)
            }, clock: dependencies.clock)
    }

    private func warnOfStartFaults() {
        for (seen, advice) in configuration.startFaults(access.now.rules) {
            dependencies.logger.warning("\(seen). \(advice)")
        }
    }

    private var statusRoute: Route {
        .status(
            lifecycle, store: { [storeHealth] in StoreStatus(storeHealth) }, upstreams,
            isAppleEnabled: configuration.apple.isEnabled, hasServerAPIKey: hasServerAPIKey, clock: dependencies.clock)
    }

    private func webhooks(from fleet: FleetStore) throws(ConfigurationProblems) -> WebhookService? {
        try WebhookService(
            configuration, fleet, access: access, liveNodes: { [storeHealth] in storeHealth.liveNodes },
            metrics: metrics, tracing: tracing, clock: dependencies.clock)
    }

    private var hasServerAPIKey: @Sendable () -> Bool {
        { [access] in !access.now.rules.serverAPIKeys.isEmpty }
    }

    private func currentVerifier() throws(ConfigurationProblems) -> CurrentVerifier {
        let items = SignedItemCache(
            maximumBytes: configuration.signedItemCacheSize.bytes, onLookup: metrics.verification.countSignedItem)
        return try CurrentVerifier(configuration, metrics, items: items, readFile: dependencies.files.read)
    }

    private func charging(by fleet: FleetStore) -> RequestCharging {
        let slots = EmbeddedInFlightLimiter { [storeHealth] in storeHealth.liveNodes }
        let admission = ClientAdmission(
            rates: fleet.ports.limiter, slots: MeteredInFlightLimiter(slots: slots, metrics: metrics.limits))
        return RequestCharging(
            admission, addresses: configuration.http.remoteAddresses,
            sendsLegacyFields: configuration.http.sendsLegacyRateLimitFields, metrics: metrics.limits)
    }

    private func ownership(
        of fleet: FleetStore, onEvents: @escaping @Sendable (AppPartition) -> Void
    ) -> OwnershipCheck {
        OwnershipCheck(
            fleet.ownership, rules: configuration.ownership, observe: metrics.ownership.observe,
            onEvents: { [metrics] partition in
                metrics.notifications.observe(.event(.fraudSuspected))
                onEvents(partition)
            }, clock: dependencies.clock)
    }

    private func handler(
        _ verification: VerificationService, _ charging: RequestCharging, _ ownership: OwnershipCheck,
        _ deferral: Deferral
    ) -> VerifyHandler {
        VerifyHandler(
            verification: verification, access: access, charging: charging, metrics: metrics.verification,
            nearCache: NearCache(maximumBytes: configuration.nearCacheSize.bytes),
            lifecycle: upstreams.lifecycle, ownership: ownership, deferral: deferral, clock: dependencies.clock)
    }

    private func routes(of intake: NotificationIntake, _ charging: RequestCharging) -> [Route] {
        NotificationRoutes(
            intake, access: access, token: configuration.notifications.token,
            charging: charging, clock: dependencies.clock
        ).routes
    }

    private func events(of fleet: FleetStore, _ watcher: EventWatcher, _ charging: RequestCharging) -> Route {
        EventRoute(
            EventReader(fleet.events), watcher: watcher, access: access, charging: charging,
            settings: EventRouteSettings(configuration)
        ).route
    }

    private func customerRoutes(
        of fleet: FleetStore, _ watcher: JobWatcher, _ charging: RequestCharging
    ) -> [Route] {
        let verifications = VerificationRoute(
            fleet.jobs, watcher: watcher, access: access, charging: charging,
            clock: dependencies.clock)
        let erasures = ErasureRoute(
            fleet.erasure, charging: charging, observe: metrics.erasures.observe,
            logger: dependencies.logger)
        return [verifications.route, erasures.route]
            + OwnershipRoutes(
                fleet.ownership, charging: charging, logger: dependencies.logger
            ).routes
    }

    /// Returns the routes that verify evidence.
    private func verificationRoutes(_ handler: VerifyHandler, _ charging: RequestCharging) -> [Route] {
        let forms = FormRoutes(
            verification: handler, access: access, charging: charging, configuration.form, clock: dependencies.clock)
        let plugins = PluginRoutes(verification: handler, access: access, origins: configuration.pluginOrigins)
        return [
            handler.route(at: VerdictEndpoint()), handler.route(at: AppleFormEndpoint()),
            .verifyReceiptByGet(announcing: upstreams.lifecycle),
        ] + forms.routes + plugins.routes
    }

    private func signatures(_ charging: RequestCharging) -> SignatureRoute {
        SignatureRoute(
            access: access, charging: charging, metrics: metrics.signatures, logger: dependencies.logger,
            clock: dependencies.clock)
    }

    /// Returns the proxy to the App Store Server API, which rejects every call if Apple is disabled.
    private func appleProxy(_ apple: AppleConnection?, _ charging: RequestCharging) -> AppleProxy {
        AppleProxy(
            apple?.serverAPI, invalidation: apple?.invalidation, charging: charging,
            timeout: configuration.apple.timeouts.deadline, logger: dependencies.logger)
    }

    private func dataPlane(_ routes: RouteTable) -> any Service {
        let (http, lifecycle, access, dependencies) = (configuration.http, lifecycle, access, dependencies)
        var rules = EdgeRules(http, shutdown: configuration.shutdown) { [clock = dependencies.clock] credentials in
            access.now.authenticator.client(with: credentials, at: clock())
        }
        rules.identify = { [clock = dependencies.clock] in access.now.authenticator.client(with: $0, at: clock()) }
        let log = RequestLog(
            logger: dependencies.logger, lines: dependencies.requestLines, settings: dependencies.logSettings,
            sampler: metrics.sampler, tracing: tracing)
        return HTTPListener(
            plane: .data, address: http.listener, http: http, rules: rules, budget: budget, lifecycle: lifecycle,
            pipeline: RequestPipeline(routes: routes, log: log, logger: dependencies.logger), metrics: metrics.edge,
            certificate: { [certificates] in certificates.now.data }, logger: dependencies.logger
        ) { port in
            lifecycle.advance(to: .ready)
            await dependencies.onListening(.data, port)
        }
    }

    /// Returns the listener for orchestrators and operators. The same edge with small limits: no client sends bodies
    /// here. Requests are not logged.
    private func adminPlane(_ health: NodeHealth) -> [any Service] {
        let http = configuration.http.ofAdminPlane
        var shutdown = configuration.shutdown
        // Prometheus keeps its connections, and scrapes again.
        shutdown.drainDelay = .zero
        var rules = EdgeRules(http, shutdown: shutdown)
        rules.hosts = configuration.adminHostNames.adding(hostOf: configuration.admin)
        let board = StatusBoard(
            StatusSources(
                configuration, health: health, upstreams: upstreams, reloads: reloads, bodyBudget: budget,
                notifications: metrics.notificationSurveys, webhooks: metrics.webhookSurveys,
                lastAttempts: { [webhooks = metrics.webhooks] in webhooks.lastAttempts }, jobs: metrics.jobSurveys,
                comparisons: { [comparisons = metrics.comparisons] in comparisons.last },
                registry: metrics.registry,
                hasServerAPIKey: hasServerAPIKey, appsWithoutKey: appsWithoutKey, clock: dependencies.clock))
        let logLevel = LogLevelRoute(
            settings: dependencies.logSettings, logger: dependencies.logger, clock: dependencies.clock)
        let routes = RouteTable(
            health.routes + [.metrics(metrics.registry)] + board.routes + logLevel.routes,
            authenticationElsewhere: .none)
        let admin = HTTPListener(
            plane: .admin, address: configuration.admin, http: http, rules: rules, budget: BodyBudget(.mebibytes(1)),
            lifecycle: lifecycle,
            pipeline: RequestPipeline(routes: routes, log: RequestLog(logger: nil), logger: dependencies.logger),
            certificate: { [certificates] in certificates.now.admin }, logger: dependencies.logger
        ) { [dependencies] in await dependencies.onListening(.admin, $0) }
        return [admin, StatusService(board: board)]
    }

    private func reloadService(_ verifier: CurrentVerifier) -> ReloadService? {
        guard let reloading = dependencies.reloading else { return nil }
        return ReloadService(
            reloader: Reloader(reloading.source, files: reloading.files, configuration, access, verifier, certificates),
            triggers: reloading.triggers, history: reloads, metrics: metrics.reload, clock: dependencies.clock,
            logger: dependencies.logger)
    }

    /// Returns the group, which stops its services in reverse order: when the shutdown service returns, first the new
    /// attempts of jobs and the waits for events, then the data plane, then the updates of the status page, then the admin plane, then the foundations
    /// of requests.
    private func group(of services: [UnprintedService]) -> ServiceGroup {
        let shutdown = ShutdownService(
            requests: dependencies.shutdownRequests, lifecycle: lifecycle,
            drainDelay: configuration.shutdown.drainDelay, logger: dependencies.logger)
        let last = ServiceGroupConfiguration.ServiceConfiguration(
            service: UnprintedService(shutdown), successTerminationBehavior: .gracefullyShutdownGroup)
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) } + [last],
            logger: dependencies.logger)
        // The edge ends its connections within the grace period; those that remain a little later are cancelled.
        group.maximumGracefulShutdownDuration = configuration.shutdown.grace + .seconds(5)
        return ServiceGroup(configuration: group)
    }
}

extension Route {
    fileprivate static func metrics(_ registry: PrometheusRegistry) -> Route {
        Route(.get, "/metrics", authentication: .none, on: .thread) { _ in
            Reply(
                fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ReplyBody(Array(registry.text().utf8)))
        }
    }
}

extension CurrentVerifier {
    convenience init(
        _ configuration: GatewayConfiguration, _ metrics: GatewayMetrics,
        items: SignedItemCache = SignedItemCache(maximumBytes: 0),
        readFile: (String) throws(FileFault) -> String = TextFile.read
    ) throws(ConfigurationProblems) {
        let receipts = ReceiptVerifier(
            trustStore: try TrustStore(configuration, readFile: readFile), policy: configuration.verification,
            onNewChain: metrics.certificates.saw, onIgnoredClaim: metrics.ignoredClaims.saw)
        self.init(receipts, items: items, onTrust: metrics.certificates.trust)
    }
}

/// Checks that OpenSSL offers what receipts and API keys need. Without it their code traps.
func checkOpenSSL() throws(ConfigurationProblems) {
    do throws(OpenSSLFault) {
        try ReceiptVerifier.checkOpenSSL()
    } catch {
        throw ConfigurationProblems("OpenSSL", error.description)
    }
}
