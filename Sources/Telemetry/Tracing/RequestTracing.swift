// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import Receipts
internal import Resilience

/// Records spans of requests and their steps, if spans are exported.
package struct RequestTracing: Sendable {
    let recorder: SpanRecorder?

    /// - Parameter recorder: receives the spans; with nil, tracing costs nothing.
    package init(_ recorder: SpanRecorder?) { self.recorder = recorder }

    package static let off = RequestTracing(nil)

    package var isOn: Bool { recorder != nil }

    /// Begins the span of a request, if the sampler chooses the request.
    /// - Parameters:
    ///   - sender: the client's trace.
    ///   - isTrusted: true if the client's flag `sampled` counts.
    package func begin(following sender: @autoclosure () -> TraceContext?, isTrusted: Bool) -> TraceScope? {
        guard let recorder else { return nil }
        let new = TraceContext(following: nil, isSampled: true)
        guard recorder.sampler.samples(isTrusted ? sender() : nil, new: new) else { return nil }
        let sender = sender()
        return TraceScope(
            sender.map { TraceContext(following: $0, isSampled: true) } ?? new, within: sender, recorder)
    }

    /// Adds a span to each access to the shared cache.
    package func traced(_ cache: any UpstreamCache) -> any UpstreamCache {
        isOn ? TracedUpstreamCache(cache: cache) : cache
    }

    /// The callback for each local verification; nil without spans.
    package var onVerification: (@Sendable (Duration, Rule?) -> Void)? {
        guard isOn else { return nil }
        return { took, rule in
            TraceScope.current?.record("verify receipt", .internal, took: took) {
                $0.set("receipt_gateway.reason", rule?.rawValue)
            }
        }
    }

    /// Traces a request to Apple; its response gives the attributes.
    package func sending(
        _ endpoint: UpstreamEndpoint, at host: String?, method: String, _ work: () async -> RequestSummary
    ) async -> RequestSummary {
        await TraceScope.span(method, .client, work) { summary, details in
            details.set("http.request.method", method)
            details.set("http.response.status_code", summary.httpStatus)
            details.set("server.address", host)
            details.set("receipt_gateway.api", endpoint.api.rawValue)
            details.set("receipt_gateway.upstream", endpoint.environment.rawValue)
            details.set("receipt_gateway.upstream_outcome", summary.outcome.name)
            if case .failed(let failure) = summary.outcome { details.fail(failure.rawValue) }
        }
    }
}

private struct TracedUpstreamCache: UpstreamCache {
    let cache: any UpstreamCache

    func lookUp(_ key: CacheKey, naming ids: [String]) async -> CacheLookup {
        await TraceScope.span("look up result", .internal) {
            await cache.lookUp(key, naming: ids)
        } describe: { found, details in
            let state = found.result == nil ? Provenance.Cache.miss : .shared
            details.set("receipt_gateway.cache", state.rawValue)
        }
    }

    func insert(_ result: CachedResult, for key: CacheKey) async {
        await TraceScope.span("store result", .internal) { await cache.insert(result, for: key) }
    }

    var purges: any ResultPurges { cache.purges }

    func version(for key: CacheKey) -> InvalidationVersion { cache.version(for: key) }
}
