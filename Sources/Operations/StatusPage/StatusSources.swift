// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Gateway
package import HTTPServer
package import Receipts
internal import Redis
internal import RedisStore
internal import Resilience
package import Settings
package import Telemetry

/// The sources of the status page. Nothing is kept for the page alone.
package struct StatusSources: Sendable {
    package let health: NodeHealth
    let configuration: GatewayConfiguration
    let upstreams: UpstreamState
    let reloads: ReloadHistory
    let hasServerAPIKey: @Sendable () -> Bool
    /// Returns the apps that depend on `verifyReceipt`, in alphabetical order.
    let appsWithoutKey: @Sendable () -> [String]
    let bodyBudget: BodyBudget
    let notifications: NotificationSurveys
    let webhooks: WebhookSurveys
    /// Returns this node's last attempts to deliver events, by endpoint.
    let lastAttempts: @Sendable () -> [String: LastAttempts]
    let jobs: JobSurveys
    /// Returns the results of comparisons; none if no answer is compared.
    let comparisons: @Sendable () -> [ComparisonPair: ComparisonTally]
    let clock: @Sendable () -> Timestamp
    private let instruments: StatusInstruments
    private let connections: PrometheusGauge
    private let requestsInFlight: PrometheusGauge
    private let storeConnections: [PrometheusGauge]
    private let started = ProcessStatistics.start.map { Timestamp(millisecondsSince1970: Int64($0 * 1000)) }
    /// The name of the machine or pod.
    let host = (try? TextFile.read("/proc/sys/kernel/hostname"))?.withoutLineEnds ?? ""

    package init(
        _ configuration: GatewayConfiguration, health: NodeHealth, upstreams: UpstreamState,
        reloads: ReloadHistory, bodyBudget: BodyBudget, notifications: NotificationSurveys,
        webhooks: WebhookSurveys, lastAttempts: @escaping @Sendable () -> [String: LastAttempts],
        jobs: JobSurveys, comparisons: @escaping @Sendable () -> [ComparisonPair: ComparisonTally],
        registry: PrometheusRegistry,
        hasServerAPIKey: @escaping @Sendable () -> Bool, appsWithoutKey: @escaping @Sendable () -> [String],
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.health = health
        self.upstreams = upstreams
        self.reloads = reloads
        self.bodyBudget = bodyBudget
        self.notifications = notifications
        self.webhooks = webhooks
        self.lastAttempts = lastAttempts
        self.jobs = jobs
        self.comparisons = comparisons
        self.hasServerAPIKey = hasServerAPIKey
        self.appsWithoutKey = appsWithoutKey
        self.clock = clock
        instruments = StatusInstruments(registry)
        connections = registry.gauge(MetricCatalogue.connections)
        requestsInFlight = registry.gauge(MetricCatalogue.requestsInFlight)
        storeConnections = RedisConnectionRole.allCases.map {
            registry.gauge(MetricCatalogue.storeConnections, $0.labelValues)
        }
    }

    var reading: StatusReading {
        StatusReading(
            time: clock(), instant: .now, counts: instruments.counts, distributions: instruments.distributions,
            processorSeconds: CLibrary.processorSeconds)
    }

    // MARK: - Tables

    private typealias Row = StatusTable.Row

    func tables(_ windows: StatusWindows, at now: Timestamp) -> [StatusTable] {
        let apple = [apple(windows), serverAPI(windows), sunset(at: now), receipts(windows.all, at: now)]
        return [node(windows, at: now)] + apple.compactMap(\.self) + notificationTables(windows)
            + [webhookTable(at: now), jobTable(windows)].compactMap(\.self) + comparisonTables() + [
                caches(windows), limits(windows), store(windows),
            ]
    }

    private func node(_ windows: StatusWindows, at now: Timestamp) -> StatusTable {
        let obstacle = health.obstacle
        return StatusTable(
            "node", "This node",
            rows: [
                Row("stage", "Stage", .word("\(health.lifecycle.stage)")),
                Row("alive", "Alive", .word("yes"), .good),
                Row(
                    "ready", "Ready for requests", .word(obstacle == nil ? "yes" : "no"), obstacle == nil ? .good : .bad
                ),
                Row("started", "Started", .time(started)),
                Row("uptime_seconds", "Up for", .span(started.map { $0.duration(to: now) })),
                Row("cores", "CPU, cores busy", .number(windows.minute.cores)),
                Row("memory_bytes", "Memory", .bytes(ProcessStatistics.residentBytes.map { Int($0) })),
                Row("connections", "Connections", .count(Int(connections.value))),
                Row("requests_in_flight", "Requests in flight", .count(Int(requestsInFlight.value))),
                Row("bodies_share", "Memory for bodies in use", .share(bodyShare), .notable, if: bodyShare > 0.8),
            ])
    }

    private var bodyShare: Double { Double(bodyBudget.reserved) / Double(max(1, bodyBudget.capacity)) }

    private func caches(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute
        let lookups: [StatusCount] = [.cacheHits, .cacheStale, .cacheMisses]
        let faults = windows.all.count(.cacheFaults)
        return StatusTable(
            "caches", "Caches", note: "the last minute",
            rows: [
                Row("near_share", "Answers from the near cache", .share(minute.share(.fromNearCache, of: .verdicts))),
                Row("near_limit_bytes", "Near cache, at most", .bytes(configuration.nearCacheSize.bytes)),
                Row("found_share", "Cached results: fresh", .share(minute.share(.cacheHits, of: lookups))),
                Row("stale_share", "stale", .share(minute.share(.cacheStale, of: lookups))),
                Row("lookups", "lookups", .rate(minute.rate(lookups))),
                Row("joined", "Coalesced requests", .rate(minute.rate(.coalescedRequests))),
                Row("found_by_others", "Fetched by another node", .rate(minute.rate(.leasesFound))),
                Row("faults", "Cache faults, in 10 min", .count(faults), .notable, if: faults > 0),
            ])
    }

    private func limits(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute, all = windows.all
        return StatusTable(
            "limits", "Limits of clients", note: "the last minute",
            rows: [
                Row("admitted", "Decisions to admit", .rate(minute.rate(.limitsAdmitted))),
                Row("refused_by_rate", "Rejected: rate limit", .rate(minute.rate(.refusedByRate))),
                Row("refused_by_concurrency", "Rejected: concurrency limit", .rate(minute.rate(.refusedByConcurrency))),
                Row("wrong_form_credentials", "Forms: wrong key or token", .rate(minute.rate(.wrongCredentials))),
                Row("refused_in_shadow", "Would be rejected (shadow)", .rate(minute.rate(.limitsInShadow))),
                Row(
                    "decided_alone", "Decided without Redis", .rate(minute.rate(.limitsAlone)),
                    .notable, if: minute.count(.limitsAlone) > 0),
                Row("refused_at_edge", "Rejected at the edge, in 10 min", .count(all.count(.refusedAtEdge))),
                Row(
                    "overloaded", "of them because of overload", .count(all.count(.overloaded)),
                    .notable, if: all.count(.overloaded) > 0),
                Row("server_errors", "Verifications answered 5xx, in 10 min", .count(all.count(.serverErrors))),
            ])
    }

    private func store(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute, store = health.store
        return StatusTable(
            "redis", "Redis and the fleet", note: "rates of the last minute",
            rows: [
                Row("state", "State", store.condition.shown, store.condition.tone),
                Row("refusal", "Refusal", store.configurationFault?.configurationWord.map { .word($0) } ?? .none()),
                Row("breaker", "Circuit breaker", .word(store.breaker.rawValue), .bad, if: store.breaker != .closed),
                Row("live_nodes", "Live nodes, including this one", .count(store.liveNodes)),
                Row("connections", "Connections", .count(Int(storeConnections.reduce(0) { $0 + $1.value }))),
                Row("done", "Commands done", .rate(minute.rate(.storeDone))),
                Row(
                    "failed", "Commands failed", .rate(minute.rate(.storeFailed)),
                    .notable, if: minute.count(.storeFailed) > 0),
                Row("rejected", "Commands rejected locally", .rate(minute.rate(.storeRejected))),
                Row("round_trip_p99", "Round trip, p99", .latency(minute.quantile(0.99, of: .store))),
                Row("invalidations", "Invalidations", .rate(minute.rate(.invalidations))),
            ])
    }
}

extension [StatusCount] {
    static let verdicts: [StatusCount] = [.genuine, .rejected, .undecided]
    static let receiptAnswers = Provenance.Source.allCases.map { StatusCount.receiptAnswered($0) }
}

extension StoreCondition {
    fileprivate var shown: StatusValue {
        switch self {
        case .embedded: .word(rawValue, shown: "none: this node runs alone")
        case .connecting, .connected, .misconfigured: .word(rawValue)
        case .degraded: .word(rawValue, shown: "unavailable: each node decides alone")
        }
    }

    fileprivate var tone: StatusTone {
        switch self {
        case .embedded: .plain
        case .connecting: .notable
        case .connected: .good
        case .degraded, .misconfigured: .bad
        }
    }
}

// The tables about Apple's endpoints: a column for each.
extension StatusSources {
    func apple(_ windows: StatusWindows) -> StatusTable {
        let endpoints = endpoints(windows)
        return StatusTable(
            "apple", "Apple's endpoints",
            note: configuration.apple.isEnabled
                ? "the last minute" : "No requests to Apple: gateway.apple.enabled is false",
            columns: endpoints.map(\.heading), rows: guardRows(endpoints) + requestRows(endpoints, windows.minute))
    }

    /// The endpoints in use: the Server API's endpoints only with a key, or after requests in the last ten minutes.
    func endpoints(_ windows: StatusWindows) -> [UpstreamEndpoint] {
        let hasKey = hasServerAPIKey()
        return UpstreamEndpoint.allCases.filter { endpoint in
            endpoint.api == .verifyReceipt || hasKey || windows.all.count([.answered(endpoint), .failed(endpoint)]) > 0
        }
    }

    /// The table about the App Store Server API beside its endpoints; nil if it is not in use.
    func serverAPI(_ windows: StatusWindows) -> StatusTable? {
        guard endpoints(windows).contains(where: { $0.api == .serverAPI }) else { return nil }
        let all = windows.all
        let (keys, budget) = (all.count(.serverAPIKeyRejected), all.count(.overBudget))
        return StatusTable(
            "server_api", "App Store Server API", note: "the last ten minutes",
            rows: [
                Row("key_rejected", "Answers without it: key rejected", .count(keys), .bad, if: keys > 0),
                Row("over_budget", "Calls not sent: over budget", .count(budget), .notable, if: budget > 0),
                Row("unknown_transactions", "Unknown transaction IDs", .count(all.count(.unknownTransactions))),
            ])
    }

    private func guardRows(_ endpoints: [UpstreamEndpoint]) -> [Row] {
        let health = endpoints.map { upstreams.guards.health(of: $0) }
        return [
            row("breaker", "Circuit breaker", health, tone: \.breakerTone) { $0.breakerValue },
            row("paused_for_seconds", "Requested pause", health, tone: { $0.pausedFor == nil ? .plain : .notable }) {
                $0.pausedFor.map { .span($0) } ?? .none(shown: "none")
            },
            row("in_flight", "Requests in flight", health) { .part($0.inFlight, of: $0.concurrencyLimit) },
            row("waiting", "waiting for a slot", health) { .count($0.waiting) },
            row("budget_remaining", "Budget left", health, tone: { $0.budgetRemaining == 0 ? .notable : .plain }) {
                $0.budgetRemaining.map { .count($0) } ?? .none(shown: "none set")
            },
        ]
    }

    private func requestRows(_ endpoints: [UpstreamEndpoint], _ minute: StatusWindow) -> [Row] {
        [
            row("answered", "Answered", endpoints) { .rate(minute.rate(.answered($0))) },
            row("failed", "Failed", endpoints, tone: { minute.count(.failed($0)) > 0 ? .notable : .plain }) {
                .rate(minute.rate(.failed($0)))
            },
            row("rejected", "Rejected locally", endpoints) { .rate(minute.rate(.unsent($0))) },
            row("median", "p50", endpoints) { .latency(minute.quantile(0.5, of: .apple($0))) },
            row("p99", "p99", endpoints) { .latency(minute.quantile(0.99, of: .apple($0))) },
        ]
    }

    func sunset(at now: Timestamp) -> StatusTable {
        let endpoints = UpstreamAPI.verifyReceipt.endpoints
        let known = endpoints.map { upstreams.lifecycle.state(of: $0) }
        let left = known.map { $0.dates.sunset.map { max(.zero, now.duration(to: $0)) } }
        return StatusTable(
            "sunset", "The end of verifyReceipt", columns: endpoints.map(\.heading),
            rows: [
                row("stage", "Stage", known) { .word($0.dates.stage(at: now).name) },
                row("deprecation", "Deprecated from", known) { .time($0.dates.deprecation) },
                row("sunset", "Ends on", known) { .time($0.dates.sunset) },
                row("left_seconds", "Time left", left, tone: { $0 == .zero ? .bad : .plain }) { .span($0) },
                row("sunset_ramp_ratio", "Answered without it", known) {
                    .share($0.dates.stage(at: now).rampShare)
                },
                row("said_by", "Announced by", known) { $0.source },
            ])
    }

    /// The sources of answers about receipts: how much of them has moved from `verifyReceipt` to the Server API.
    private func receipts(_ window: StatusWindow, at now: Timestamp) -> StatusTable {
        func share(_ source: Provenance.Source) -> StatusValue {
            .share(window.share(.receiptAnswered(source), of: .receiptAnswers))
        }
        let apps = appsWithoutKey()
        return StatusTable(
            "receipts", "Answers about receipts", note: "the last ten minutes",
            rows: [
                Row("answers", "Answers", .count(window.count(.receiptAnswers))),
                Row("server_api_share", "From the Server API", share(.serverAPI)),
                Row("verify_receipt_share", "From verifyReceipt", share(.apple)),
                Row("notification_share", "From notifications", share(.notification)),
                Row("receipt_share", "From the receipt alone", share(.local)),
                Row(
                    "apps_without_key", "Apps without a key", .names(apps), .notable,
                    if: !apps.isEmpty && isSunsetNear(at: now)),
            ])
    }

    private func row<Subject>(
        _ name: String, _ title: String, _ subjects: [Subject], tone: (Subject) -> StatusTone = { _ in .plain },
        _ value: (Subject) -> StatusValue
    ) -> Row {
        Row(heading: .init(name, title), cells: subjects.map { .init(value($0), tone($0)) })
    }
}

extension UpstreamHealth {
    fileprivate var breakerTone: StatusTone {
        switch breaker {
        case .closed: .good
        case .halfOpen: .notable
        case .open: .bad
        }
    }

    fileprivate var breakerValue: StatusValue { .word(breaker.rawValue, shown: breakerText) }

    private var breakerText: String {
        let state = breaker.rawValue.replacing("_", with: " ")
        switch breakerMode {
        case .auto: break
        case .forcedOpen: return "forced open"
        case .forcedClosed: return "forced closed"
        case .metricsOnly: return "\(state) (metrics only)"
        }
        guard let span = breakerOpensFor else { return state }
        return "\(state), for \(span.secondsRoundedUp) s"
    }
}

extension UpstreamLifecycle.State {
    fileprivate var source: StatusValue {
        if dates == LifecycleDates() { return .word("none", shown: "not announced") }
        return announced == LifecycleDates() ? .word("configuration") : .word("apple", shown: "Apple")
    }
}

extension UpstreamEndpoint {
    var title: String {
        switch api {
        case .verifyReceipt: "Apple's verifyReceipt (\(environment.rawValue))"
        case .serverAPI: "Apple's Server API (\(environment.rawValue))"
        }
    }

    /// The head of a column. Columns about `verifyReceipt` have the environment's name alone, as in older versions.
    fileprivate var heading: StatusTable.Heading {
        let environment = environment.rawValue
        return switch api {
        case .verifyReceipt: .init(environment, environment)
        case .serverAPI: .init("server_api_\(environment)", "Server API, \(environment)")
        }
    }
}
