// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPTypes
package import Logging
internal import NIOCore
internal import Synchronization
internal import Telemetry

/// One request from its header to its answer. Handlers read the request here and record details; the log, traces and
/// header fields of the answer are made from them.
///
/// A class, because it is passed on many times.
package final class RequestContext: Sendable {
    /// The context of the current task's request. Log lines and spans written far from it, by the connections to Apple
    /// and Redis, find it here.
    @TaskLocal package static var current: RequestContext?

    package let header: RequestHeader
    package let match: RouteMatch
    /// The client that sends it; the unidentified client without valid credentials.
    package let client: Client
    /// The peer of the connection, which may be a proxy; nil if unknown.
    package let peer: NetworkAddress?
    /// True if the connection has TLS.
    let hasTLS: Bool
    /// The certificate of the connection, if it names no client and the request is refused for that.
    let unknownCertificate: ClientCertificate?
    /// The time at which the header was complete.
    let arrival: NIODeadline

    private let record = Mutex(Record())

    private struct Record {
        /// The time at which the body was complete; nil until then.
        var completion: NIODeadline?
        var isKept = false
        var isLogged = false
        var isRefused = false
        var details = RequestDetails()
        var rateLimitFields: [HTTPField] = []
        var traceIDs: TraceContext?
        /// The span of the request; nil if it has none.
        var trace: TraceScope?

        mutating func traceIDs(_ header: RequestHeader) -> TraceContext {
            let ids = traceIDs ?? TraceContext(following: TraceContext(header))
            traceIDs = ids
            return ids
        }
    }

    init(
        header: RequestHeader, match: RouteMatch, client: Client, peer: NetworkAddress?, hasTLS: Bool = false,
        unknownCertificate: ClientCertificate? = nil, arrival: NIODeadline
    ) {
        (self.header, self.match, self.client) = (header, match, client)
        (self.peer, self.hasTLS, self.arrival) = (peer, hasTLS, arrival)
        self.unknownCertificate = unknownCertificate
    }

    var requestID: RequestID { header.requestID }

    func complete(at now: NIODeadline) {
        record.withLock { $0.completion = now }
    }

    var completion: NIODeadline? { record.withLock { $0.completion } }

    /// The time since the end of the request.
    var age: Duration { Duration(NIODeadline.now() - (completion ?? arrival)) }

    /// Records details from now on, because a log line or a span is made of them.
    /// - Parameter isLogged: true if the request may get a line.
    func keepDetails(bodyBytes: Int?, isLogged: Bool) {
        record.withLock { record in
            (record.isKept, record.isLogged) = (true, isLogged && !record.isRefused)
            (record.details.client, record.details.keyID) = (client.name, client.keyID)
            record.details.bodyBytes = bodyBytes
        }
    }

    var isLogged: Bool { record.withLock { $0.isLogged } }

    /// Records that the edge has refused the request. Work that goes on ends without a line or a span of its own.
    func refuse(as problem: Problem.Code, bodyBytes: Int) {
        record.withLock { record in
            (record.isLogged, record.isRefused) = (false, true)
            record.details.problem = problem
            // Later the handler has the body.
            if record.completion == nil { record.details.bodyBytes = bodyBytes }
            if client !== Client.unidentified {
                (record.details.client, record.details.keyID) = (client.name, client.keyID)
            }
        }
    }

    var isRefused: Bool { record.withLock { $0.isRefused } }

    package func record(_ change: (inout RequestDetails) -> Void) {
        record.withLock { if $0.isKept { change(&$0.details) } }
    }

    var details: RequestDetails { record.withLock { $0.details } }

    package var rateLimitFields: [HTTPField] {
        get { record.withLock { $0.rateLimitFields } }
        set { record.withLock { $0.rateLimitFields = newValue } }
    }

    /// The times since the end of the request's header, and since the end of the request.
    var ages: (arrived: Duration, received: Duration?) {
        let now = NIODeadline.now()
        return (Duration(now - arrival), completion.map { Duration(now - $0) })
    }

    /// The span of the request. Log lines name it.
    var trace: TraceScope? {
        get { record.withLock { $0.trace } }
        set { record.withLock { ($0.trace, $0.traceIDs) = (newValue, newValue?.context) } }
    }

    /// The trace that log lines name. Without the client's trace, a trace begins here on first use, because most
    /// requests are answered without needing it.
    var traceIDs: TraceContext { record.withLock { $0.traceIDs(header) } }

    func line(_ status: Int, answerBytes: Int, took: Duration) -> RequestLog.Line {
        record.withLock { record in
            RequestLog.Line(
                requestID: requestID, trace: record.traceIDs(header), method: header.method.rawValue,
                route: match.template, status: status, duration: took, answerBytes: answerBytes,
                details: record.details)
        }
    }

    package func run<Value>(_ work: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self) {
            guard let trace else { return try work() }
            return try TraceScope.$current.withValue(trace, operation: work)
        }
    }

    func run<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self) {
            guard let trace else { return try await work() }
            return try await TraceScope.$current.withValue(trace, operation: work)
        }
    }
}

extension Logger.MetadataProvider {
    /// The IDs of the request and trace that a log line belongs to. Work without a request, such as an attempt of a
    /// deferred verification, has a trace alone, if it has spans.
    package static let currentRequest = Logger.MetadataProvider {
        guard let context = RequestContext.current else {
            guard let ids = TraceScope.current?.context else { return [:] }
            return ["trace_id": "\(ids.traceID)", "span_id": "\(ids.spanID)"]
        }
        let ids = context.traceIDs
        return ["request_id": "\(context.requestID.text)", "trace_id": "\(ids.traceID)", "span_id": "\(ids.spanID)"]
    }
}

/// The details of a log line beside status and duration.
package struct RequestDetails: Sendable {
    package var client: String?
    /// The public part of the client's key.
    var keyID: String?
    var bodyBytes: Int?
    /// The part of the duration in which the request waited for something to happen, as the client wished.
    package var waited = Duration.zero
    package var result: LogMembers?
    /// The last request to another server for it.
    package var upstream: LogMembers?
    var problem: Problem.Code?
    /// The fault that the problem names, from a closed list.
    var fault: String?
    var limitedBy: [String] = []
    /// The limits in shadow mode that would have been exceeded.
    package var limitedInShadowBy: [String] = []
}
