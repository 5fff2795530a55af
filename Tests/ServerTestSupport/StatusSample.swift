// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts

@testable import Clients
@testable import HTTPServer
@testable import Operations
@testable import RedisStore
@testable import Server
@testable import Settings
@testable import Telemetry

/// The sources of the status page, without a gateway.
struct StatusSample {
    let registry: PrometheusRegistry
    let lifecycle = ServerLifecycle()
    let store: StoreHealth
    let upstreams: UpstreamState
    let reloads = ReloadHistory()
    let notifications = NotificationSurveys(isServed: { _ in true }, clock: { Self.now })
    let webhooks: WebhookSurveys
    let webhookMetrics: WebhookMetrics
    let jobMetrics: JobMetrics
    let sources: StatusSources

    /// 2026-11-21T12:00:00Z
    static let now = Timestamp(millisecondsSince1970: 1_795_262_400_000)

    init(
        isEmbedded: Bool = true, hasServerAPIKey: Bool = false, appsWithoutKey: [String] = [],
        webhooks names: Set<String> = [], comparisons: [ComparisonPair: ComparisonTally] = [:],
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = GatewayConfiguration()
        change(&configuration)
        let counts = WebhookCounts(endpoints: { names })
        webhooks = WebhookSurveys(endpoints: { names })
        let jobs = JobSurveys()
        registry = try PrometheusRegistry(
            MetricCatalogue.all, readings: jobs.readings, series: counts.series + webhooks.series)
        webhookMetrics = WebhookMetrics(registry, counts: counts, logger: .silent, clock: { Self.now })
        jobMetrics = JobMetrics(registry, surveys: jobs, logger: .silent, clock: { Self.now })
        store = StoreHealth(isEmbedded: isEmbedded)
        upstreams = UpstreamState(configuration.apple)
        lifecycle.advance(to: .ready)
        sources = StatusSources(
            configuration, health: NodeHealth(lifecycle: lifecycle, store: store), upstreams: upstreams,
            reloads: reloads, bodyBudget: BodyBudget(.mebibytes(1)), notifications: notifications, webhooks: webhooks,
            lastAttempts: { [webhookMetrics] in webhookMetrics.lastAttempts }, jobs: jobs, comparisons: { comparisons },
            registry: registry,
            hasServerAPIKey: { hasServerAPIKey }, appsWithoutKey: { appsWithoutKey }, clock: { Self.now })
    }

    func count(_ verdict: VerificationLabels.VerdictLabel, _ cache: Provenance.Cache = .near, times: Int = 1) {
        let labels = VerificationLabels(verdict: verdict, source: .local, cache: cache, environment: .production)
        count(MetricCatalogue.verifications, labels, times: Int64(times))
    }

    func count(_ family: MetricFamily, _ labels: some SeriesLabels, times: Int64 = 1) {
        registry.counter(family, labels.labelValues).increment(by: times)
    }

    /// Returns the issues after a minute with these events.
    func issues(after happenings: () -> Void = {}) -> [StatusIssue] {
        var history = StatusHistory(first: sources.reading)
        happenings()
        history.append(sources.reading)
        return sources.issues(StatusWindows(history), at: Self.now)
    }
}

extension StatusBoard {
    var tableNames: [String] { page.report.tables.map(\.heading.name) }

    /// The cells of all tables, by their identifiers.
    var cells: [String: StatusTable.Cell] {
        Dictionary(uniqueKeysWithValues: page.report.tables.flatMap(\.cells).map { ($0, $1) })
    }

    /// The members of `status.json`.
    var members: [String: Any] { String(decoding: json, as: UTF8.self).jsonMembers ?? [:] }
}

extension StatusReading {
    /// Creates a reading so many intervals after the first; counts that are not named are 0.
    init(tick: Int, _ counts: [StatusCount: UInt64] = [:], answers: [UInt64] = []) {
        var distributions = StatusTiming.allCases.map { $0.bounds.map { _ in UInt64(0) } + [0] }
        if !answers.isEmpty { distributions[StatusTiming.answers.position] = answers }
        self.init(
            time: StatusSample.now.advanced(by: StatusHistory.Limits.tick * tick),
            instant: Self.start + StatusHistory.Limits.tick * tick,
            counts: StatusCount.allCases.map { counts[$0] ?? 0 }, distributions: distributions, processorSeconds: 0)
    }

    private static let start = ContinuousClock.now
}
