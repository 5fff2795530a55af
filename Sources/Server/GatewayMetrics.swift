// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import RedisStore
internal import Settings
internal import Synchronization
internal import Telemetry

struct GatewayMetrics: Sendable {
    let registry: PrometheusRegistry
    let edge: EdgeMetrics
    let verification: VerificationMetrics
    let limits: LimitMetrics
    let upstream: UpstreamMetrics
    let store: StoreMetrics
    let sampler: RequestSampler
    let reload: ReloadMetrics
    let certificates: CertificateInventory
    let ignoredClaims: IgnoredClaims
    let serverAPI: ServerAPIReadings
    let notifications: NotificationMetrics
    let notificationSurveys: NotificationSurveys
    let webhooks: WebhookMetrics
    let webhookSurveys: WebhookSurveys
    let jobs: JobMetrics
    let jobSurveys = JobSurveys()
    let ownership: OwnershipMetrics
    let erasures: ErasureMetrics
    let comparisons: ComparisonMetrics
    let signatures: SignatureMetrics

    init(
        _ configuration: GatewayConfiguration, lifecycle: ServerLifecycle, bodyBudget: BodyBudget,
        access: CurrentAccess, upstreams: UpstreamState, store health: StoreHealth,
        appsWithoutKey: @escaping @Sendable () -> [String] = { [] }, in dependencies: Dependencies
    ) {
        sampler = RequestSampler(configuration.log.sampling)
        certificates = CertificateInventory(logger: dependencies.logger)
        serverAPI = ServerAPIReadings()
        notificationSurveys = NotificationSurveys(
            isServed: { access.now.servesApp($0) }, clock: dependencies.clock)
        let endpoints: @Sendable () -> Set<String> = { Set(access.now.rules.webhooks.map(\.name)) }
        let webhookCounts = WebhookCounts(endpoints: endpoints)
        webhookSurveys = WebhookSurveys(endpoints: endpoints)
        let readings =
            bodyBudget.readings + lifecycle.readings + access.readings(clock: dependencies.clock)
            + upstreams.readings(clock: dependencies.clock) + health.readings + certificates.readings
            + sampler.readings + ProcessStatistics.readings + serverAPI.readings + notificationSurveys.readings
            + jobSurveys.readings
            + [
                MetricReading(MetricCatalogue.logLinesDropped) { Double(dependencies.droppedLogLines()) },
                MetricReading(MetricCatalogue.notificationBacklogLimit) {
                    Double(configuration.notifications.backlog.bytes)
                },
                MetricReading(MetricCatalogue.jobMaximumAge) { configuration.jobs.maximumAge / .seconds(1) },
            ]
        do throws(CatalogueError) {
            registry = try PrometheusRegistry(
                MetricCatalogue.all, readings: readings,
                series: [
                    serverAPI.pausedKeys, ServerAPIReadings.appsWithoutKey(appsWithoutKey),
                    notificationSurveys.lastAges,
                ] + webhookCounts.series + webhookSurveys.series)
        } catch {
            preconditionFailure("the catalogue, which stands in this program, is wrong: \(error)")
        }
        edge = EdgeMetrics(registry)
        verification = VerificationMetrics(registry)
        limits = LimitMetrics(registry)
        upstream = UpstreamMetrics(registry, logger: dependencies.logger)
        store = StoreMetrics(registry)
        notifications = NotificationMetrics(registry, logger: dependencies.logger, clock: dependencies.clock)
        webhooks = WebhookMetrics(
            registry, counts: webhookCounts, logger: dependencies.logger, clock: dependencies.clock)
        jobs = JobMetrics(
            registry, surveys: jobSurveys, logger: dependencies.logger, clock: dependencies.clock)
        ignoredClaims = IgnoredClaims(registry, logger: dependencies.logger, clock: dependencies.clock)
        ownership = OwnershipMetrics(registry)
        erasures = ErasureMetrics(registry)
        comparisons = ComparisonMetrics(registry)
        signatures = SignatureMetrics(registry)
        reload = ReloadMetrics(registry, at: dependencies.clock())
        registry.gauge(MetricCatalogue.build, [Version.current]).set(1.0)
    }
}

extension MetricCatalogue {
    static let all = http + telemetry + store
}

/// The state of the App Store Server API's client that each scrape reads.
///
/// The client is built after the metrics, because it reports its events to them.
final class ServerAPIReadings: Sendable {
    private let followed = Mutex<@Sendable () -> ServerAPIClient?> { nil }

    /// Reads this client from now on.
    func follow(_ client: ServerAPIClient) {
        // The client's observer holds the registry, which holds this object.
        followed.withLock { $0 = { [weak client] in client } }
    }

    private var client: ServerAPIClient? { followed.withLock { $0 }() }

    var readings: [MetricReading] {
        UpstreamEnvironment.allCases.map { environment in
            MetricReading(MetricCatalogue.serverAPIClockSkew, environment.labelValues) {
                (self.client?.clockSkew(in: environment) ?? .zero) / .seconds(1)
            }
        }
    }

    var pausedKeys: SeriesReading {
        SeriesReading(MetricCatalogue.serverAPIKeyPaused) {
            let keys = self.client?.pausedKeys ?? []
            return Dictionary(keys.map { ([$0.keyID, $0.bundleID], 1) }) { first, _ in first }
        }
    }

    static func appsWithoutKey(_ bundleIDs: @escaping @Sendable () -> [String]) -> SeriesReading {
        SeriesReading(MetricCatalogue.appWithoutServerAPIKey) {
            Dictionary(bundleIDs().map { ([$0], 1) }) { first, _ in first }
        }
    }
}

extension CertificateInventory {
    func serves(_ certificates: ServerCertificates) {
        serves(.httpServer, until: certificates.data?.end)
        serves(.adminServer, until: certificates.admin?.end)
    }
}
