// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Reads servers' metrics once a second during a run, and at its end.
final class MetricWatch: Sendable {
    private let targets: [LoadTarget]
    private let trust: TLSTrust
    private let state = Mutex(State())

    private struct State {
        var collection = SeriesCollection()
        var looks = 0
        var failures: [String: Int] = [:]
    }

    init(_ targets: [LoadTarget], trust: TLSTrust = .system) {
        self.targets = targets
        self.trust = trust
    }

    /// Reads each once and keeps nothing; throws problems that the user should know before the run.
    func check() async throws(ScrapeError) {
        for target in targets { _ = try await MetricsText(of: target, trust) }
    }

    /// Reads until the task is cancelled; seconds are counted from `origin`.
    func run(from origin: ContinuousClock.Instant) async {
        var second = 0
        while !Task.isCancelled {
            try? await ContinuousClock().sleep(until: origin + .seconds(second))
            if Task.isCancelled { return }
            await look(from: origin)
            // Looks that took too long are not made up for.
            second = max(second, Int((ContinuousClock.now - origin).seconds)) + 1
        }
    }

    /// Reads each once; seconds are counted from `origin`.
    func look(from origin: ContinuousClock.Instant) async {
        await withTaskGroup { group in
            for target in targets { group.addTask { await self.look(at: target, from: origin) } }
        }
    }

    var series: [RunResult.Series] { state.withLock { $0.collection.series } }

    /// Failures for readers; empty if there were none.
    var complaints: [String] {
        state.withLock { state in
            state.failures.sorted { $0.key < $1.key }.map {
                "\($0.value) of \(state.looks) looks at metrics failed: \($0.key)"
            }
        }
    }

    func printComplaints() {
        for complaint in complaints { ProgressStream.write(complaint + "\n") }
    }

    private func look(at target: LoadTarget, from origin: ContinuousClock.Instant) async {
        let instance = targets.count > 1 ? target.authority : nil
        do throws(ScrapeError) {
            let metrics = try await MetricsText(of: target, trust)
            let second = max(0, (ContinuousClock.now - origin).seconds)
            state.withLock { $0.collection.add(metrics, second: second, instance: instance) }
        } catch {
            guard !Task.isCancelled else { return }
            state.withLock { $0.failures["\(error)", default: 0] += 1 }
        }
        state.withLock { $0.looks += 1 }
    }
}

extension MetricsText {
    /// Reads the metrics of a server over a new connection: an idle connection may be closed.
    init(of target: LoadTarget, _ trust: TLSTrust = .system) async throws(ScrapeError) {
        let reason: String
        do {
            let reply = try await Exchange(target: target, trust: trust).get()
            switch reply.answer?.status {
            case 200:
                self = try MetricsText(reply.body)
                return
            case nil: reason = "There was no whole answer in time."
            case let status?: reason = "The answer has HTTP status \(status)."
            }
        } catch {
            reason = "\(error)"
        }
        throw ScrapeError(url: target.url, reason: reason)
    }
}

struct ScrapeError: Error, Hashable, CustomStringConvertible {
    let url: String
    let reason: String

    var description: String { "\(url): \(reason)" }
}

/// A relevant metric of a load run, and its relevant labels.
struct SeriesRule: Hashable, Sendable {
    let name: String
    let kind: RunResult.Series.Kind
    var unit: String?
    /// The labels that are kept; values that differ in other labels are added up.
    var labels: [String] = []

    /// The metrics of a gateway; of other servers the metrics that all processes have.
    static let all = [
        SeriesRule(name: "receipt_gateway_http_requests_total", kind: .counter, labels: ["code"]),
        SeriesRule(name: "receipt_gateway_http_requests_in_flight", kind: .gauge),
        SeriesRule(name: "receipt_gateway_http_connections", kind: .gauge),
        SeriesRule(
            name: "receipt_gateway_verifications_total", kind: .counter, labels: ["verdict", "source", "cache"]),
        SeriesRule(name: "receipt_gateway_cache_lookups_total", kind: .counter, labels: ["result"]),
        SeriesRule(name: "receipt_gateway_coalesced_requests_total", kind: .counter),
        SeriesRule(name: "receipt_gateway_flight_leases_total", kind: .counter, labels: ["outcome"]),
        SeriesRule(name: "receipt_gateway_rate_limit_decisions_total", kind: .counter, labels: ["decision", "source"]),
        SeriesRule(name: "receipt_gateway_limited_requests_total", kind: .counter, labels: ["limit"]),
        SeriesRule(name: "receipt_gateway_http_refusals_total", kind: .counter, labels: ["cause"]),
        SeriesRule(name: "receipt_gateway_degraded_total", kind: .counter, labels: ["reason"]),
        SeriesRule(name: "receipt_gateway_upstream_requests_total", kind: .counter, labels: ["outcome"]),
        SeriesRule(name: "receipt_gateway_upstream_requests_in_flight", kind: .gauge),
        SeriesRule(
            name: "receipt_gateway_circuit_breaker_state", kind: .gauge, labels: ["api", "environment", "state"]),
        SeriesRule(name: "receipt_gateway_store_circuit_breaker_state", kind: .gauge, labels: ["state"]),
        SeriesRule(name: "receipt_gateway_store_state", kind: .gauge, labels: ["state"]),
        SeriesRule(name: "receipt_gateway_fleet_live_nodes", kind: .gauge),
        SeriesRule(name: "process_resident_memory_bytes", kind: .gauge, unit: "bytes"),
        SeriesRule(name: "process_cpu_seconds_total", kind: .counter, unit: "seconds"),
    ]
}

struct SeriesCollection: Sendable {
    private var points: [Key: [RunResult.Point]] = [:]

    private struct Key: Hashable {
        let rule: SeriesRule
        let labels: [String: String]
    }

    /// Adds the metrics of a second of the run, later than the last; `instance` names the server if there are several.
    mutating func add(_ metrics: MetricsText, second: Double, instance: String?) {
        var sums: [Key: Double] = [:]
        let rules = Dictionary(grouping: SeriesRule.all, by: \.name)
        for sample in metrics.samples where sample.value.isFinite {
            guard let rule = rules[sample.name]?.first else { continue }
            var labels = sample.labels.filter { rule.labels.contains($0.key) }
            labels["instance"] = instance
            sums[Key(rule: rule, labels: labels), default: 0] += sample.value
        }
        for (key, value) in sums {
            guard points[key] != nil || points.count < RunResultLimits.series else { continue }
            guard points[key, default: []].count < RunResultLimits.points else { continue }
            points[key, default: []].append(RunResult.Point(x: second.rounded(toDecimals: 3), y: value))
        }
    }

    /// The series that were not 0 all the time, in the order of the rules.
    var series: [RunResult.Series] {
        SeriesRule.all.flatMap { rule in
            points.filter { key, points in key.rule == rule && points.contains { $0.y != 0 } }
                .map { key, points in
                    RunResult.Series(
                        name: rule.name, labels: key.labels, kind: rule.kind, unit: rule.unit, points: points)
                }
                .sorted { $0.labels.sorted(by: <).description < $1.labels.sorted(by: <).description }
        }
    }
}
