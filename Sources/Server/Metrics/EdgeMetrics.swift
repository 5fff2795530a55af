// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import PrometheusExport

/// Counts what the edge of the data plane sees: each answer exactly once, whoever gave it.
final class EdgeMetrics: Sendable {
    private let connections: PrometheusGauge
    private let requestsInFlight: PrometheusGauge
    private let requests: [AnswerLabels: PrometheusCounter]
    private let durations: [DurationLabels: PrometheusHistogram]
    private let refusals: [RefusalCause: PrometheusCounter]

    init(_ registry: PrometheusRegistry) {
        connections = registry.gauge(MetricCatalogue.connections)
        requestsInFlight = registry.gauge(MetricCatalogue.requestsInFlight)
        requests = registry.counters(MetricCatalogue.requests)
        durations = registry.histograms(MetricCatalogue.requestDuration)
        refusals = registry.counters(MetricCatalogue.refusals)
    }

    /// A connection was accepted.
    func connectionOpened() {
        connections.increment(by: 1)
    }

    /// A connection is gone.
    func connectionClosed() {
        connections.decrement(by: 1)
    }

    /// A request went to the router, or its answer is over.
    func requestsInFlightChanged(by amount: Int) {
        requestsInFlight.increment(by: Double(amount))
    }

    /// The router begins its answer.
    func answered(_ request: IncomingRequest, _ status: HTTPResponse.Status, at now: NIODeadline) {
        let route = RouteLabel(target: request.head.path)
        count(route, request.head.method, status)
        guard let completion = request.completion else { return }
        let labels = DurationLabels(route: route, codeClass: DurationLabels.CodeClass(status))
        durations[labels]?.recordNanoseconds((now - completion).nanoseconds)
    }

    /// The edge answers itself. Not timed: how long it took was not up to the gateway.
    func refused(_ request: IncomingRequest?, _ refusal: EdgeRefusal, _ status: HTTPResponse.Status) {
        refusals[RefusalCause(refusal)]?.increment()
        count(RouteLabel(target: request?.head.path), request?.head.method, status)
    }

    private func count(_ route: RouteLabel, _ method: HTTPRequest.Method?, _ status: HTTPResponse.Status) {
        let labels = AnswerLabels(route: route, method: MethodLabel(method), code: CodeLabel(status))
        requests[labels]?.increment()
    }
}
