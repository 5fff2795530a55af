// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Resilience
package import Tracing

/// Traces requests with spans if a tracer is linked. Names and attributes follow OpenTelemetry's semantic conventions;
/// none contains client input except the request ID.
package struct RequestTracing: Sendable {
    /// The tracer; nil if there is none. Tracing then costs nothing.
    package let tracer: (any Tracer)?

    package init(tracer: (any Tracer)?) { self.tracer = tracer }

    package static let off = RequestTracing(tracer: nil)

    package var isOn: Bool { tracer != nil }

    /// Adds a span to each access to the shared cache.
    package func traced(_ cache: any UpstreamCache) -> any UpstreamCache {
        tracer.map { TracedUpstreamCache(cache: cache, tracer: $0) } ?? cache
    }

    /// The callback for each local verification; nil without a tracer.
    package var onVerification: (@Sendable (Duration, Rule?) -> Void)? {
        guard let tracer else { return nil }
        return { took, rule in
            let now = DefaultTracerClock.now
            let span = tracer.startSpan("verify receipt", at: now - took)
            if let rule { span.attributes["receipt_gateway.reason"] = rule.rawValue }
            span.end(at: now)
        }
    }

    /// Traces a request to Apple; its response gives the attributes.
    package func sending(
        _ endpoint: UpstreamEndpoint, at host: String?, method: String, _ work: () async -> RequestSummary
    ) async -> RequestSummary {
        guard let tracer else { return await work() }
        return await tracer.withSpan(method, ofKind: .client) { span in
            let summary = await work()
            span.updateAttributes { attributes in
                attributes["http.request.method"] = method
                if let host { attributes["server.address"] = host }
                attributes["receipt_gateway.api"] = endpoint.api.rawValue
                attributes["receipt_gateway.upstream"] = endpoint.environment.rawValue
                attributes["receipt_gateway.upstream_outcome"] = summary.outcome.name
                if let status = summary.httpStatus { attributes["http.response.status_code"] = status }
            }
            if case .failed(let failure) = summary.outcome {
                span.attributes["error.type"] = failure.rawValue
                span.setStatus(SpanStatus(code: .error))
            }
            return summary
        }
    }
}

extension Optional where Wrapped == any Tracer {
    /// The tracer linked and bootstrapped in this program; nil if there is none.
    package static var linked: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}

extension DefaultTracerClock.Timestamp {
    fileprivate static func - (end: Self, span: Duration) -> Self {
        Self(nanosecondsSinceEpoch: end.nanosecondsSinceEpoch - UInt64(max(0, span / .nanoseconds(1))))
    }
}

private struct TracedUpstreamCache: UpstreamCache {
    let cache: any UpstreamCache
    let tracer: any Tracer

    func lookUp(_ key: CacheKey, naming ids: [String]) async -> CacheLookup {
        await tracer.withSpan("GET", ofKind: .client) { span in
            let found = await cache.lookUp(key, naming: ids)
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "GET"
                attributes["receipt_gateway.cache"] = (found.result == nil ? Provenance.Cache.miss : .shared).rawValue
            }
            return found
        }
    }

    func insert(_ result: CachedResult, for key: CacheKey) async {
        await tracer.withSpan("SET", ofKind: .client) { span in
            span.updateAttributes { attributes in
                attributes["db.system.name"] = "redis"
                attributes["db.operation.name"] = "SET"
            }
            await cache.insert(result, for: key)
        }
    }

    var purges: any ResultPurges { cache.purges }

    func version(for key: CacheKey) -> InvalidationVersion { cache.version(for: key) }
}
