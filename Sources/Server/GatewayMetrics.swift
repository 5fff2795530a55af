// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import RedisStore
internal import Settings
internal import Telemetry

/// The metrics of this process, by the part that counts them.
struct GatewayMetrics: Sendable {
    let registry: PrometheusRegistry
    let edge: EdgeMetrics
    let verification: VerificationMetrics
    let limits: LimitMetrics
    let upstream: UpstreamMetrics
    let store: StoreMetrics
    /// Selects the requests that are logged, and counts the other requests.
    let sampler: RequestSampler
    let reload: ReloadMetrics
    /// Knows the expiry dates of certificates.
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

    /// - Parameter appsWithoutKey: returns the apps that depend on `verifyReceipt`.
    init(
        lifecycle: ServerLifecycle, bodyBudget: BodyBudget, access: CurrentAccess, upstreams: UpstreamState,
        store health: StoreHealth, appsWithoutKey: @escaping @Sendable () -> [String] = { [] },
        sampling: RequestSampling = RequestSampling(),
        notifications settings: NotificationsConfiguration = NotificationsConfiguration(),
        jobs rules: JobRules = JobRules(),
        in dependencies: Dependencies
    ) {
        let sampler = RequestSampler(sampling)
        self.sampler = sampler
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
                MetricReading(MetricCatalogue.notificationBacklogLimit) { Double(settings.backlog.bytes) },
                MetricReading(MetricCatalogue.jobMaximumAge) { rules.maximumAge / .seconds(1) },
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
        reload = ReloadMetrics(registry, at: dependencies.clock())
        registry.gauge(MetricCatalogue.build, [Version.current]).set(1.0)
    }
}

extension MetricCatalogue {
    static let all = http + telemetry + store
}
