// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
package import Telemetry

/// The metrics at the edge of the data plane. Each answer counts exactly once, whether the edge or a handler gave it.
package final class EdgeMetrics: Sendable {
    let connections: PrometheusGauge
    /// Connections that were closed at once, because their address has too many.
    let connectionsRefused: PrometheusCounter
    /// Complete TLS handshakes.
    let handshakes: PrometheusCounter
    let openingFailures: [OpeningFailure: PrometheusCounter]
    /// The requests that are complete, and whose answer is not over.
    let requestsInFlight: PrometheusGauge
    /// Counter and histogram together: each request needs both, and the look-up is most of the work.
    private let answers: [AnswerLabels: (count: PrometheusCounter, duration: PrometheusHistogram)]
    private let refusals: [EdgeRefusal: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        connections = registry.gauge(MetricCatalogue.connections)
        connectionsRefused = registry.counter(MetricCatalogue.connectionsRefused)
        handshakes = registry.counter(MetricCatalogue.handshakes)
        openingFailures = registry.counters(MetricCatalogue.openingFailures)
        requestsInFlight = registry.gauge(MetricCatalogue.requestsInFlight)
        answers = Dictionary(
            uniqueKeysWithValues: AnswerLabels.allCases.map { labels in
                let count = registry.counter(MetricCatalogue.requests, labels.labelValues)
                let timedBy = DurationLabels(labels).labelValues
                return (labels, (count, registry.histogram(MetricCatalogue.requestDuration, timedBy)))
            })
        refusals = registry.counters(MetricCatalogue.refusals)
    }

    /// Counts and times an answer that begins. Health checks are not counted: they would hide the rate of clients.
    func answered(_ request: RequestContext, _ status: HTTPResponse.Status, at now: NIODeadline) {
        guard !request.match.isProbe else { return }
        let labels = AnswerLabels(request.match.label, request.header.method, status)
        guard let answer = answers[labels] else { return }
        answer.count.increment()
        guard let completion = request.completion else { return }
        answer.duration.recordNanoseconds((now - completion).nanoseconds)
    }

    /// Counts an answer by the edge itself. It is not timed: the client determines its duration.
    func refused(_ request: RequestContext?, _ refusal: EdgeRefusal, _ status: HTTPResponse.Status) {
        refusals[refusal]?.increment()
        let labels = AnswerLabels(request?.match.label ?? .other, request?.header.method, status)
        answers[labels]?.count.increment()
    }
}

extension AnswerLabels {
    /// - Parameter method: nil for bytes that are no request.
    fileprivate init(_ route: RouteLabel, _ method: HTTPRequest.Method?, _ status: HTTPResponse.Status) {
        self.init(route: route, method: MethodLabel(method), code: CodeLabel(status))
    }
}

extension MetricCatalogue {
    package static let requests = MetricFamily(
        "receipt_gateway_http_requests_total", .counter, "Requests answered.", by: AnswerLabels.self
    ) { $0.route.isObjective && ($0.method == .post || $0.code.isServerError) }
    package static let requestDuration = MetricFamily(
        "receipt_gateway_http_request_duration_seconds", .histogram(buckets: durationBuckets),
        "Time from the end of a request to the beginning of its answer.", by: DurationLabels.self
    ) { $0.route.isObjective && $0.codeClass == .success }
    package static let requestsInFlight = MetricFamily(
        "receipt_gateway_http_requests_in_flight", .gauge, "Requests being answered.")
    package static let connections = MetricFamily("receipt_gateway_http_connections", .gauge, "Connections open.")
    static let connectionsRefused = MetricFamily(
        "receipt_gateway_http_connections_refused_total", .counter,
        "Connections closed at once because their address reached its limit.")
    static let handshakes = MetricFamily(
        "receipt_gateway_http_tls_handshakes_total", .counter, "TLS handshakes completed.")
    static let openingFailures = MetricFamily(
        "receipt_gateway_http_opening_failures_total", .counter, "Connections that ended before HTTP began.",
        by: OpeningFailure.self)
    static let bodiesInFlight = MetricFamily(
        "receipt_gateway_http_bodies_in_flight_bytes", .gauge, "Memory used by request bodies.")
    static let bodiesInFlightLimit = MetricFamily(
        "receipt_gateway_http_bodies_in_flight_limit_bytes", .gauge, "Memory limit of all request bodies.")
    package static let refusals = MetricFamily(
        "receipt_gateway_http_refusals_total", .counter,
        "Requests that the HTTP server itself rejected.", by: EdgeRefusal.self)
    static let lifecycle = MetricFamily(
        "receipt_gateway_lifecycle_stage", .gauge, "1 for the current stage of the process, 0 for all other stages.",
        by: ServerLifecycle.Stage.self)
    /// The families of the HTTP server: the data plane only, and the stage of the process.
    package static let http = [
        requests, requestDuration, requestsInFlight, connections, connectionsRefused, handshakes,
        openingFailures, bodiesInFlight, bodiesInFlightLimit, refusals, lifecycle,
    ]

    /// In seconds: finer for answers from memory, up to the time at which clients have given up.
    private static let durationBuckets = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5,
        10,
    ]
}

extension ServerLifecycle.Stage: SeriesLabels {
    package static let labelNames = ["stage"]
    package var labelValues: [String] { ["\(self)"] }
}

extension BodyBudget {
    /// The readings taken at each scrape.
    package var readings: [MetricReading] {
        [
            MetricReading(MetricCatalogue.bodiesInFlight) { Double(self.reserved) },
            MetricReading(MetricCatalogue.bodiesInFlightLimit) { Double(self.capacity) },
        ]
    }
}

extension ServerLifecycle {
    /// The readings taken at each scrape.
    package var readings: [MetricReading] {
        Stage.allCases.map { stage in
            MetricReading(MetricCatalogue.lifecycle, stage.labelValues) { self.stage == stage ? 1 : 0 }
        }
    }
}
