// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import Receipts
internal import Tracing

/// Follows requests with spans where a tracer is linked. Names and attributes are those of OpenTelemetry's semantic
/// conventions; none of them holds what a client may choose, beside its request's identifier.
struct RequestTracing: Sendable {
    /// Who keeps the spans; nil if nobody does. Then nothing here costs anything.
    let tracer: (any Tracer)?

    /// Follows nothing.
    static let off = RequestTracing(tracer: nil)

    /// Whether spans are kept.
    var isOn: Bool { tracer != nil }

    /// Does the first part of the work for a request, in a span that goes on until `end`.
    func begin<Value>(_ context: RequestContext, _ work: () throws -> Value) rethrows -> Value {
        guard let tracer else { return try work() }
        start(tracer, context)
        return try context.run(work)
    }

    /// Does a later part of the work for a request, in the same span.
    func resume<Value>(_ context: RequestContext, _ work: () throws -> Value) rethrows -> Value {
        isOn ? try context.run(work) : try work()
    }

    /// Begins the span of a request, as a child of the sender's.
    private func start(_ tracer: any Tracer, _ context: RequestContext) {
        var parent = InstrumentationContext.topLevel
        tracer.extract(TraceCarrier.sent(context.header), into: &parent, using: TraceCarrier())
        let span = tracer.startSpan("HTTP", context: parent, ofKind: .server)
        context.span = span
        // Log lines name the tracer's span, if it says in the words of the standard which that is.
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: TraceCarrier())
        guard let own = carrier[TraceCarrier.traceparent].flatMap({ TraceContext(traceparent: $0) }) else { return }
        context.traceIDs = TraceIDs(span: own)
    }

    /// Ends the span of a request that is answered.
    func end(_ context: RequestContext, _ line: () -> RequestLog.Line) {
        guard isOn, let span = context.span else { return }
        let line = line()
        let method = MethodLabel(line.method.flatMap { HTTPRequest.Method($0) })
        span.operationName = [method.conventionalName, line.route].compactMap(\.self).joined(separator: " ")
        span.updateAttributes { attributes in
            attributes["http.request.method"] = method.conventionalName
            attributes["url.scheme"] = "http"
            attributes["http.response.status_code"] = line.status
            if let route = line.route { attributes["http.route"] = route }
            if let count = line.facts.bodyBytes { attributes["http.request.body.size"] = count }
            for (name, text) in line.texts where !Self.saidOtherwise.contains(name) {
                attributes["receipt_gateway.\(name)"] = text
            }
        }
        if line.status >= 500 {
            span.attributes["error.type"] = line.facts.problem?.rawValue ?? String(line.status)
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }

    /// What the log says, and the span says in the convention's words or by itself.
    private static let saidOtherwise: Set<String> = ["method", "route", "trace_id", "span_id"]
}

extension MethodLabel {
    /// The convention has one name for all methods that are not known.
    fileprivate var conventionalName: String { self == .other ? "_OTHER" : rawValue }
}

/// The trace of a request on its way to the tracer: what is valid of it, and no other header field.
struct TraceCarrier: Extractor, Injector {
    static let traceparent = "traceparent"
    static let tracestate = "tracestate"

    /// §3.3: `tracestate` counts only beside a valid `traceparent`.
    static func sent(_ header: RequestHeader) -> [String: String] {
        guard TraceContext(header) != nil else { return [:] }
        var carrier = [traceparent: header.traceparent ?? ""]
        carrier[tracestate] = TraceState.list(of: header.values(of: tracestate))
        return carrier
    }

    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }

    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
}

extension Optional where Wrapped == any Tracer {
    /// The tracer that this program was linked with and has bootstrapped; nil if there is none.
    static var linked: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}

// MARK: - What happens inside

extension RequestTracing {
    /// Keeps a span for each search in the cache that all nodes share.
    func traced(_ cache: any FindingCache) -> any FindingCache {
        tracer.map { TracedFindingCache(cache: cache, tracer: $0) } ?? cache
    }

    /// Told of each receipt that was verified here; nil if nobody wants to know.
    var onVerification: (@Sendable (Duration, Rule?) -> Void)? {
        guard let tracer else { return nil }
        return { took, rule in
            let now = DefaultTracerClock.now
            let span = tracer.startSpan("verify receipt", at: now - took)
            if let rule { span.attributes["receipt_gateway.reason"] = rule.rawValue }
            span.end(at: now)
        }
    }

    /// Keeps a span for a question to Apple. `work` gives what it has to say of it.
    func asking(
        _ environment: UpstreamEnvironment, at host: String?, _ work: () async -> UpstreamExchange
    ) async -> UpstreamReply {
        guard let tracer else { return await work().reply }
        return await tracer.withSpan("POST", ofKind: .client) { span in
            let exchange = await work()
            span.updateAttributes { attributes in
                attributes["http.request.method"] = "POST"
                if let host { attributes["server.address"] = host }
                attributes["receipt_gateway.upstream"] = environment.rawValue
                attributes["receipt_gateway.upstream_outcome"] = UpstreamOutcome(exchange.reply).name
                if let status = exchange.httpStatus { attributes["http.response.status_code"] = status }
            }
            if case .failure(let failure) = exchange.reply {
                span.attributes["error.type"] = failure.rawValue
                span.setStatus(SpanStatus(code: .error))
            }
            return exchange.reply
        }
    }
}

/// What came of a question, and the status it came with.
struct UpstreamExchange: Sendable {
    let reply: UpstreamReply
    let httpStatus: Int?
}

extension DefaultTracerClock.Timestamp {
    fileprivate static func - (end: Self, span: Duration) -> Self {
        Self(nanosecondsSinceEpoch: end.nanosecondsSinceEpoch - UInt64(max(0, span / .nanoseconds(1))))
    }
}
