// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A relevant metric of a load run, and its relevant labels.
struct SeriesRule: Hashable, Sendable {
    let name: String
    let kind: RunResult.Series.Kind
    var unit: String?
    /// The labels that are kept; values that differ in others are added up.
    var labels: [String] = []

    /// The metrics of a gateway; of other servers those that all processes have.
    static let all = [
        SeriesRule(name: "receipt_gateway_http_requests_total", kind: .counter, labels: ["code"]),
        SeriesRule(name: "receipt_gateway_http_requests_in_flight", kind: .gauge),
        SeriesRule(name: "receipt_gateway_http_connections", kind: .gauge),
        SeriesRule(
            name: "receipt_gateway_verifications_total", kind: .counter, labels: ["verdict", "source", "cache"]),
        SeriesRule(name: "receipt_gateway_cache_lookups_total", kind: .counter, labels: ["result"]),
        SeriesRule(name: "receipt_gateway_coalesced_requests_total", kind: .counter),
        SeriesRule(name: "receipt_gateway_rate_limit_decisions_total", kind: .counter, labels: ["decision", "source"]),
        SeriesRule(name: "receipt_gateway_limited_requests_total", kind: .counter, labels: ["limit"]),
        SeriesRule(name: "receipt_gateway_http_refusals_total", kind: .counter, labels: ["cause"]),
        SeriesRule(name: "receipt_gateway_degraded_total", kind: .counter, labels: ["reason"]),
        SeriesRule(name: "receipt_gateway_upstream_requests_total", kind: .counter, labels: ["outcome"]),
        SeriesRule(name: "receipt_gateway_upstream_requests_in_flight", kind: .gauge),
        SeriesRule(name: "receipt_gateway_circuit_breaker_state", kind: .gauge, labels: ["environment", "state"]),
        SeriesRule(name: "receipt_gateway_store_circuit_breaker_state", kind: .gauge, labels: ["state"]),
        SeriesRule(name: "receipt_gateway_store_state", kind: .gauge, labels: ["state"]),
        SeriesRule(name: "receipt_gateway_fleet_live_nodes", kind: .gauge),
        SeriesRule(name: "process_resident_memory_bytes", kind: .gauge, unit: "bytes"),
        SeriesRule(name: "process_cpu_seconds_total", kind: .counter, unit: "seconds"),
    ]
}

/// The series of servers' metrics over time.
struct SeriesCollection: Sendable {
    private var points: [Key: [RunResult.Point]] = [:]
    private let limits = RunResultLimits()

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
            guard points[key] != nil || points.count < limits.series, value.magnitude <= limits.number else { continue }
            guard points[key, default: []].count < limits.points else { continue }
            points[key, default: []].append(RunResult.Point(x: second.rounded(toDecimals: 3), y: value))
        }
    }

    /// The series that were not 0 all the time, in the order of the rules.
    var series: [RunResult.Series] {
        SeriesRule.all.flatMap { rule in
            points.filter { $0.key.rule == rule && $0.value.contains { $0.y != 0 } }
                .map { key, points in
                    RunResult.Series(
                        name: rule.name, labels: key.labels, kind: rule.kind, unit: rule.unit, points: points)
                }
                .sorted { $0.labels.sorted(by: <).description < $1.labels.sorted(by: <).description }
        }
    }
}
