// SPDX-License-Identifier: Apache-2.0

/// The results of `webhooks`.
struct WebhookReport: Hashable, Sendable, Encodable {
    struct Endpoint: Hashable, Sendable, Encodable {
        let name: String
        let isHealthy: Bool
        let distinct, lost, duplicates, orderViolations, gaps, unsigned, malformed, redirectsFollowed, refused: Int
        let orderDigest: String
        let deliveriesPerSecond: Double
    }

    let posted, written: Int
    let endpoints: [Endpoint]
    /// Deliveries to all healthy endpoints together, from the first to the last delivery.
    let deliveriesPerSecond: Double
    let notificationsPerSecond: Double
    /// In microseconds; nil without a run that measures the storing alone.
    let cpuPerDelivery: Double?
    let cpuPerNotification: Double?
    let residentBytes: Int
    let environment: RunResult.Environment
    /// The faults that were found; none if the run passed.
    let problems: [String]

    var passed: Bool { problems.isEmpty }
}

extension WebhookReport {
    init(_ outcome: WebhookRun.Outcome, _ plan: WebhookRun.Plan, baseline: WebhookRun.Outcome?) {
        (posted, written) = (outcome.posted, outcome.written)
        endpoints = plan.endpoints.compactMap { name in
            outcome.stats[name].map { stats in
                Endpoint(name, stats, of: outcome.written, isHealthy: plan.healthy.contains(name))
            }
        }
        let healthy = endpoints.filter(\.isHealthy)
        deliveriesPerSecond = healthy.map(\.deliveriesPerSecond).reduce(0, +).rounded(toDecimals: 0)
        notificationsPerSecond = (Double(posted) / max(0.001, outcome.postingSeconds)).rounded(toDecimals: 0)
        let storing = baseline.map { $0.cpuSeconds / Double(max(1, $0.posted)) }
        let deliveries = outcome.stats.values.map(\.counts.accepted).reduce(0, +)
        cpuPerNotification = storing.map { (1e6 * $0).rounded(toDecimals: 1) }
        cpuPerDelivery = storing.map { storing in
            let delivering = outcome.cpuSeconds - storing * Double(outcome.posted)
            return (1e6 * delivering / Double(max(1, deliveries))).rounded(toDecimals: 1)
        }
        residentBytes = outcome.residentBytes
        environment = .current()
        problems = Self.problems(outcome, plan, healthy)
    }

    private static func problems(
        _ outcome: WebhookRun.Outcome, _ plan: WebhookRun.Plan, _ healthy: [Endpoint]
    ) -> [String] {
        var problems = healthy.flatMap(\.problems)
        if outcome.posted < plan.events {
            problems.append("\((plan.events - outcome.posted).grouped) notifications were not stored")
        }
        if outcome.written == 0 { problems.append("the gateways wrote no event") }
        if Set(healthy.map(\.orderDigest)).count > 1 {
            problems.append("the healthy endpoints received the events of an original transaction in different orders")
        }
        return problems
    }
}

extension WebhookReport.Endpoint {
    fileprivate init(_ name: String, _ stats: WebhookReceiver.EndpointStats, of written: Int, isHealthy: Bool) {
        let counts = stats.counts
        self.init(
            name: name, isHealthy: isHealthy, distinct: counts.distinct, lost: written - counts.distinct,
            duplicates: counts.duplicates, orderViolations: counts.orderViolations, gaps: counts.gaps,
            unsigned: counts.unsigned, malformed: counts.malformed, redirectsFollowed: counts.elsewhere,
            refused: counts.refused, orderDigest: stats.orderDigest,
            deliveriesPerSecond: (Double(counts.accepted) / max(0.001, stats.seconds)).rounded(toDecimals: 0))
    }

    /// Faults of a healthy endpoint's deliveries. Duplicates are none: delivery is at least once.
    fileprivate var problems: [String] {
        [
            (lost, "events too few"), (orderViolations, "events out of order"), (gaps, "events marked with a gap"),
            (unsigned, "requests with a wrong signature"), (malformed, "requests without a valid event"),
            (redirectsFollowed, "redirects followed"),
        ]
        .filter { $0.0 != 0 }.map { "\(name): \($0.0.grouped) \($0.1)" }
    }
}

extension WebhookReport {
    var text: String {
        let verdict = passed ? "PASSED" : "FAILED"
        let rate = "\(deliveriesPerSecond.asRate) deliveries/s to healthy endpoints"
        let head = "\(verdict)  \(written.grouped) events of \(posted.grouped) notifications, \(rate)"
        return ([head] + problems.map { "  " + $0 } + ["", table, "", costs]).joined(separator: "\n")
    }

    private var table: String {
        let rows = endpoints.map { endpoint in
            [endpoint.name, endpoint.isHealthy ? "healthy" : "broken"]
                + [
                    endpoint.distinct, endpoint.lost, endpoint.duplicates, endpoint.orderViolations, endpoint.refused,
                ]
                .map(\.grouped) + [endpoint.deliveriesPerSecond.asRate]
        }
        let header = ["endpoint", "", "events", "missing", "duplicates", "out of order", "refused", "deliveries/s"]
        return AlignedTable(header: header, rows: rows).text
    }

    private var costs: String {
        let memory = "memory of a gateway \((residentBytes >> 20).grouped) MiB"
        guard let cpuPerDelivery, let cpuPerNotification else { return memory }
        return "CPU \(cpuPerDelivery.significant) us per delivery, \(cpuPerNotification.significant) us per "
            + "notification without deliveries, \(memory)"
    }
}
