// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import Telemetry

extension RequestTracing {
    /// Begins the span of a request, as a child of the client's.
    /// - Returns: true if the request has a span.
    func begin(_ context: RequestContext) -> Bool {
        guard isOn else { return false }
        let isTrusted = context.client.may.contains(.trace)
        guard let scope = begin(following: TraceContext(context.header), isTrusted: isTrusted) else { return false }
        context.trace = scope
        return true
    }

    /// Runs a part of the work for a request, within its span.
    func run<Value>(_ context: RequestContext, _ work: () throws -> Value) rethrows -> Value {
        guard isOn, context.trace != nil else { return try work() }
        return try context.run(work)
    }

    func end(_ context: RequestContext, _ line: () -> RequestLog.Line) {
        guard isOn, let scope = context.trace else { return }
        let line = line(), ages = context.ages
        if let received = ages.received {
            scope.record("receive request", .internal, took: ages.arrived - received, age: received)
        }
        let method = MethodLabel(line.method.flatMap { HTTPRequest.Method($0) }).conventionalName
        let name = [method, line.route].compactMap(\.self).joined(separator: " ")
        scope.end(name, .server, took: ages.arrived) { details in
            details.set("http.request.method", method)
            details.set("url.scheme", context.hasTLS ? "https" : "http")
            details.set("http.response.status_code", line.status)
            details.set("http.route", line.route)
            details.set("http.request.body.size", line.details.bodyBytes)
            for (name, text) in line.texts { details.set("receipt_gateway.\(name)", text) }
            if line.status >= 500 { details.fail(line.details.problem?.rawValue ?? String(line.status)) }
        }
    }
}

extension MethodLabel {
    /// The convention has one name for all methods that are not known.
    fileprivate var conventionalName: String { self == .other ? "_OTHER" : rawValue }
}

extension TraceContext {
    /// Reads the header of a request; nil without exactly one valid `traceparent`.
    init?(_ header: RequestHeader) {
        guard let text = header.traceparent else { return nil }
        self.init(traceparent: text)
    }
}
