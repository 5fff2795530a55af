// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
package import Telemetry

/// The metrics at the edge of the data plane. Each answer counts exactly once, whether the edge or a handler gave it.
package final class EdgeMetrics: Sendable {
    private let connections: PrometheusGauge
    private let connectionsRefused: PrometheusCounter
    private let requestsInFlight: PrometheusGauge
    /// Counter and histogram together: each request needs both, and the look-up is most of the work.
    private let answers: [AnswerLabels: (count: PrometheusCounter, duration: PrometheusHistogram)]
    private let refusals: [EdgeRefusal: PrometheusCounter]

    package init(_ registry: PrometheusRegistry) {
        connections = registry.gauge(MetricCatalogue.connections)
        connectionsRefused = registry.counter(MetricCatalogue.connectionsRefused)
        requestsInFlight = registry.gauge(MetricCatalogue.requestsInFlight)
        answers = Dictionary(
            uniqueKeysWithValues: AnswerLabels.allCases.map { labels in
                let count = registry.counter(MetricCatalogue.requests, labels.labelValues)
                let timedBy = DurationLabels(labels).labelValues
                return (labels, (count, registry.histogram(MetricCatalogue.requestDuration, timedBy)))
            })
        refusals = registry.counters(MetricCatalogue.refusals)
    }

    func connectionsChanged(by amount: Double) {
        connections.increment(by: amount)
    }

    /// Counts a connection that was closed at once, because its address has too many.
    func connectionRefused() {
        connectionsRefused.increment()
    }

    /// Changes the gauge when a request is complete, or its answer is over.
    func requestsInFlightChanged(by amount: Int) {
        requestsInFlight.increment(by: Double(amount))
    }

    /// Counts and times an answer that begins.
    func answered(_ request: RequestContext, _ status: HTTPResponse.Status, at now: NIODeadline) {
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
