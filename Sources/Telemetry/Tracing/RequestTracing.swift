// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
package import Tracing

/// Follows requests with spans where a tracer is linked. Names and attributes are those of OpenTelemetry's semantic
/// conventions; none of them holds what a client may choose, beside its request's identifier.
package struct RequestTracing: Sendable {
    /// Who keeps the spans; nil if nobody does. Then nothing here costs anything.
    package let tracer: (any Tracer)?

    /// Creates tracing with this tracer; nil keeps no spans.
    package init(tracer: (any Tracer)?) {
        self.tracer = tracer
    }

    /// Follows nothing.
    package static let off = RequestTracing(tracer: nil)

    /// Whether spans are kept.
    package var isOn: Bool { tracer != nil }
}

extension Optional where Wrapped == any Tracer {
    /// The tracer that this program was linked with and has bootstrapped; nil if there is none.
    package static var linked: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}

// MARK: - What happens inside

extension RequestTracing {
    /// Keeps a span for each search in the cache that all nodes share.
    package func traced(_ cache: any UpstreamCache) -> any UpstreamCache {
        tracer.map { TracedUpstreamCache(cache: cache, tracer: $0) } ?? cache
    }

    /// Told of each receipt that was verified here; nil if nobody wants to know.
    package var onVerification: (@Sendable (Duration, Rule?) -> Void)? {
        guard let tracer else { return nil }
        return { took, rule in
            let now = DefaultTracerClock.now
            let span = tracer.startSpan("verify receipt", at: now - took)
            if let rule { span.attributes["receipt_gateway.reason"] = rule.rawValue }
            span.end(at: now)
        }
    }

    /// Keeps a span for a question to Apple. `work` gives what it has to say of it.
    package func asking(
        _ endpoint: UpstreamEndpoint, at host: String?, _ work: () async -> UpstreamResponse
    ) async -> UpstreamResponse {
        guard let tracer else { return await work() }
        return await tracer.withSpan("POST", ofKind: .client) { span in
            let response = await work()
            span.updateAttributes { attributes in
                attributes["http.request.method"] = "POST"
                if let host { attributes["server.address"] = host }
                attributes["receipt_gateway.upstream"] = endpoint.environment.rawValue
                attributes["receipt_gateway.upstream_outcome"] = UpstreamOutcome(response.reply).name
                if let status = response.httpStatus { attributes["http.response.status_code"] = status }
            }
            if case .failure(let failure) = response.reply {
                span.attributes["error.type"] = failure.rawValue
                span.setStatus(SpanStatus(code: .error))
            }
            return response
        }
    }
}

extension DefaultTracerClock.Timestamp {
    fileprivate static func - (end: Self, span: Duration) -> Self {
        Self(nanosecondsSinceEpoch: end.nanosecondsSinceEpoch - UInt64(max(0, span / .nanoseconds(1))))
    }
}
