// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
package import PrometheusExport
package import Receipts
internal import Redis
internal import RedisStore
internal import Resilience
package import Settings
internal import Telemetry

/// Where the status page looks. Nothing here is kept for the page: all of it is there anyhow.
package struct StatusSources: Sendable {
    /// Whether requests are welcome, and why not.
    package let health: NodeHealth
    /// How Apple's endpoints stand.
    let upstreams: UpstreamState
    /// What came of the last reload.
    let reloads: ReloadHistory
    /// Whether Apple is asked at all.
    let asksApple: Bool
    /// The memory for request bodies.
    let bodyBudget: BodyBudget
    /// What answers kept in this process may take.
    let nearCacheBytes: Int
    /// The configuration as `check-config` prints it, secrets redacted.
    let configurationText: String
    /// The time, which tests set.
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
        reloads: ReloadHistory, bodyBudget: BodyBudget, registry: PrometheusRegistry,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.health = health
        self.upstreams = upstreams
        self.reloads = reloads
        self.bodyBudget = bodyBudget
        self.clock = clock
        asksApple = configuration.apple.isEnabled
        nearCacheBytes = configuration.nearCache.size.bytes
        configurationText = configuration.effectiveText
        instruments = StatusInstruments(registry)
        connections = registry.gauge(MetricCatalogue.connections)
        requestsInFlight = registry.gauge(MetricCatalogue.requestsInFlight)
        storeConnections = RedisConnectionRole.allCases.map {
            registry.gauge(MetricCatalogue.storeConnections, $0.labelValues)
        }
    }

    /// What was counted up to now.
    var reading: StatusReading {
        StatusReading(
            time: clock(), instant: .now, counts: instruments.counts, distributions: instruments.distributions,
            processorSeconds: CLibrary.processorSeconds)
    }
}

// MARK: - What is so at this moment

extension StatusSources {
    private typealias Row = StatusTable.Row
    private typealias Heading = StatusTable.Heading

    /// All tables but those below plots.
    func tables(_ windows: StatusWindows, at now: Timestamp) -> [StatusTable] {
        [
            node(windows, at: now), apple(windows), sunset(at: now), caches(windows), limits(windows), store(windows),
        ]
    }

    private func node(_ windows: StatusWindows, at now: Timestamp) -> StatusTable {
        let obstacle = health.obstacle
        return StatusTable(
            heading: .init("node", "This node"), note: "", columns: StatusTable.onlyColumn,
            rows: [
                Row("stage", "Stage", .word("\(health.lifecycle.stage)")),
                Row("alive", "Alive", .word("yes"), .good),
                Row(
                    "ready", "Ready for requests", .word(obstacle == nil ? "yes" : "no"), obstacle == nil ? .good : .bad
                ),
                Row("started", "Started", .time(started)),
                Row("uptime_seconds", "Up for", .span(started.map { now.since($0) })),
                Row("cores", "CPU, cores busy", .number(windows.minute.cores)),
                Row("memory_bytes", "Memory", .bytes(ProcessStatistics.residentBytes.map { Int($0) })),
                Row("connections", "Connections", .count(Int(connections.value))),
                Row("requests_in_flight", "Requests in flight", .count(Int(requestsInFlight.value))),
                Row("bodies_share", "Room for bodies taken", .share(bodyShare), bodyShare > 0.8 ? .notable : .plain),
            ])
    }

    private var bodyShare: Double { Double(bodyBudget.reserved) / Double(max(1, bodyBudget.capacity)) }

    private func caches(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute
        let lookups: [StatusCount] = [.cacheHits, .cacheStale, .cacheMisses]
        let faults = windows.all.count(.cacheFaults)
        return StatusTable(
            heading: .init("caches", "Caches"), note: "the last minute", columns: StatusTable.onlyColumn,
            rows: [
                Row("near_share", "Answers from the near cache", .share(minute.share(.fromNearCache, of: .verdicts))),
                Row("near_limit_bytes", "Near cache, at most", .bytes(nearCacheBytes)),
                Row("found_share", "Findings of Apple's: fresh", .share(minute.share(.cacheHits, of: lookups))),
                Row("stale_share", "past their time", .share(minute.share(.cacheStale, of: lookups))),
                Row("lookups", "looked up", .rate(minute.rate(lookups))),
                Row("joined", "Joined a question under way", .rate(minute.rate(.coalescedRequests))),
                Row("found_by_others", "Asked by another node", .rate(minute.rate(.leasesFound))),
                Row("faults", "not read or not kept, in 10 min", .count(faults), faults > 0 ? .notable : .plain),
            ])
    }

    private func limits(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute, all = windows.all
        return StatusTable(
            heading: .init("limits", "Limits of clients"), note: "the last minute", columns: StatusTable.onlyColumn,
            rows: [
                Row("admitted", "Decisions to admit", .rate(minute.rate(.limitsAdmitted))),
                Row("refused_by_rate", "Refused: asked too often", .rate(minute.rate(.refusedByRate))),
                Row("refused_by_concurrency", "Refused: too many at once", .rate(minute.rate(.refusedByConcurrency))),
                Row("refused_in_shadow", "Would be refused (shadow)", .rate(minute.rate(.limitsInShadow))),
                Row(
                    "decided_alone", "Decided without Redis", .rate(minute.rate(.limitsAlone)),
                    minute.count(.limitsAlone) > 0 ? .notable : .plain),
                Row("refused_at_edge", "Refused at the edge, in 10 min", .count(all.count(.refusedAtEdge))),
                Row(
                    "overloaded", "of them for want of room or time", .count(all.count(.overloaded)),
                    all.count(.overloaded) > 0 ? .notable : .plain),
                Row("server_errors", "Answers 5xx, in 10 min", .count(all.count(.serverErrors))),
            ])
    }

    private func store(_ windows: StatusWindows) -> StatusTable {
        let minute = windows.minute, store = health.store
        return StatusTable(
            heading: .init("redis", "Redis and the fleet"), note: "rates of the last minute",
            columns: StatusTable.onlyColumn,
            rows: [
                Row("state", "State", store.condition.shown, store.condition.tone),
                Row("refusal", "Refuses with", store.configurationFault.map { .word($0.kind.rawValue) } ?? .none()),
                Row(
                    "breaker", "Breaker in front of it", .word(store.breaker.rawValue),
                    store.breaker == .closed ? .plain : .bad),
                Row("live_nodes", "Nodes alive, with this one", .count(store.liveNodes)),
                Row("connections", "Connections", .count(Int(storeConnections.reduce(0) { $0 + $1.value }))),
                Row("done", "Commands done", .rate(minute.rate(.storeDone))),
                Row(
                    "failed", "Commands failed", .rate(minute.rate(.storeFailed)),
                    minute.count(.storeFailed) > 0 ? .notable : .plain),
                Row("rejected", "Commands held back", .rate(minute.rate(.storeRejected))),
                Row("round_trip_p99", "Round trip, 99 of 100 within", .latency(minute.quantile(0.99, of: .store))),
                Row("invalidations", "Changes heard of", .rate(minute.rate(.invalidations))),
            ])
    }
}

extension [StatusCount] {
    /// All verdicts.
    static let verdicts: [StatusCount] = [.genuine, .rejected, .undecided]
}

extension StoreCondition {
    fileprivate var shown: StatusValue {
        switch self {
        case .embedded: .word(rawValue, shown: "none: this node runs alone")
        case .connecting, .connected, .misconfigured: .word(rawValue)
        case .degraded: .word(rawValue, shown: "away: each node decides alone")
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

extension Timestamp {
    /// The time that has passed since another.
    func since(_ other: Timestamp) -> Duration {
        let (span, overflow) = millisecondsSince1970.subtractingReportingOverflow(other.millisecondsSince1970)
        return .milliseconds(overflow ? 0 : span)
    }
}
