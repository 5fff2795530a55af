// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Telemetry
internal import Tracing

extension RequestTracing {
    /// Runs the first part of the work for a request, in a span that lasts until `end`.
    func begin<Value>(_ context: RequestContext, _ work: () throws -> Value) rethrows -> Value {
        guard let tracer else { return try work() }
        start(tracer, context)
        return try context.run(work)
    }

    /// Runs a later part of the work for a request, in the same span.
    func resume<Value>(_ context: RequestContext, _ work: () throws -> Value) rethrows -> Value {
        isOn ? try context.run(work) : try work()
    }

    /// Begins the span of a request, as a child of the client's.
    private func start(_ tracer: any Tracer, _ context: RequestContext) {
        var parent = InstrumentationContext.topLevel
        tracer.extract(TraceCarrier.sent(context.header), into: &parent, using: TraceCarrier())
        let span = tracer.startSpan("HTTP", context: parent, ofKind: .server)
        context.span = span
        // Log lines name the tracer's span, if the tracer injects a valid `traceparent`.
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: TraceCarrier())
        guard let own = carrier[TraceCarrier.traceparent].flatMap({ TraceContext(traceparent: $0) }) else { return }
        context.traceIDs = own
    }

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
            if let count = line.details.bodyBytes { attributes["http.request.body.size"] = count }
            for (name, text) in line.texts { attributes["receipt_gateway.\(name)"] = text }
        }
        if line.status >= 500 {
            span.attributes["error.type"] = line.details.problem?.rawValue ?? String(line.status)
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }
}

extension MethodLabel {
    /// The convention has one name for all methods that are not known.
    fileprivate var conventionalName: String { self == .other ? "_OTHER" : rawValue }
}

/// The carrier of a request's trace to the tracer: only valid values, and no other header field.
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

extension TraceContext {
    /// Reads the header of a request; nil without exactly one valid `traceparent`.
    init?(_ header: RequestHeader) {
        guard let text = header.traceparent else { return nil }
        self.init(traceparent: text)
    }
}
