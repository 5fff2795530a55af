// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
package import PrometheusExport
internal import Telemetry

/// Counts what the edge of the data plane sees: each answer exactly once, whoever gave it.
package final class EdgeMetrics: Sendable {
    private let connections: PrometheusGauge
    private let connectionsRefused: PrometheusCounter
    private let requestsInFlight: PrometheusGauge
    /// Together, because both are wanted for each request, and looking them up is most of the work.
    private let answers: [AnswerLabels: (count: PrometheusCounter, duration: PrometheusHistogram)]
    private let refusals: [RefusalCause: PrometheusCounter]

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

    /// A connection was accepted.
    func connectionOpened() {
        connections.increment(by: 1)
    }

    /// A connection was closed at once, because its address has too many.
    func connectionRefused() {
        connectionsRefused.increment()
    }

    /// A connection is gone.
    func connectionClosed() {
        connections.decrement(by: 1)
    }

    /// A request is complete, or its answer is over.
    func requestsInFlightChanged(by amount: Int) {
        requestsInFlight.increment(by: Double(amount))
    }

    /// An answer begins.
    func answered(_ request: IncomingRequest, _ status: HTTPResponse.Status, at now: NIODeadline) {
        guard let answer = answers[AnswerLabels(request, status)] else { return }
        answer.count.increment()
        guard let completion = request.completion else { return }
        answer.duration.recordNanoseconds((now - completion).nanoseconds)
    }

    /// The edge answers itself. Not timed: how long it took was not up to the gateway.
    func refused(_ request: IncomingRequest?, _ refusal: EdgeRefusal, _ status: HTTPResponse.Status) {
        refusals[RefusalCause(refusal)]?.increment()
        answers[AnswerLabels(request, status)]?.count.increment()
    }
}

extension AnswerLabels {
    /// The answer to a request; nil for bytes that are none.
    fileprivate init(_ request: IncomingRequest?, _ status: HTTPResponse.Status) {
        self.init(
            route: request?.match.label ?? .other, method: MethodLabel(request?.header.method), code: CodeLabel(status))
    }
}
