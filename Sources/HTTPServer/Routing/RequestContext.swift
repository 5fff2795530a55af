// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPTypes
package import Logging
internal import NIOCore
package import Customers
internal import Receipts
package import Settings
internal import Synchronization
internal import Telemetry
internal import Tracing

/// One request from its header to its answer. Handlers read the request here and record details; the log, traces and
/// header fields of the answer are made from them.
///
/// A class, because it is passed on many times.
package final class RequestContext: Sendable {
    /// The context of the current task's request. Log lines and spans written far from it, by the connections to Apple
    /// and Redis, find it here.
    @TaskLocal static var current: RequestContext?

    package let header: RequestHeader
    package let match: RouteMatch
    package let client: Client
    /// The other end of the connection, which may be a proxy. A closed channel has no address.
    private let socketAddress: SocketAddress?
    let start = ContinuousClock.now

    private let isLogged: Bool
    private let record = Mutex(Record())

    private struct Record {
        var details = RequestDetails()
        var rateLimitFields: [HTTPField] = []
        var traceIDs: TraceContext?
        var span: (any Span)?
    }

    /// - Parameter isLogged: false if details need not be recorded, because no log line or span is made of them.
    init(
        header: RequestHeader, match: RouteMatch, client: Client, socketAddress: SocketAddress?, isLogged: Bool = true
    ) {
        self.header = header
        self.match = match
        self.client = client
        self.socketAddress = socketAddress
        self.isLogged = isLogged
    }

    var requestID: RequestID { header.requestID }
    package var peer: NetworkAddress? { socketAddress?.networkAddress }
}

extension SocketAddress {
    var networkAddress: NetworkAddress? { ipAddress.flatMap { NetworkAddress($0) } }
}

// MARK: - Record

extension RequestContext {
    package func record(_ change: (inout RequestDetails) -> Void) {
        if isLogged { record.withLock { change(&$0.details) } }
    }

    var details: RequestDetails { record.withLock { $0.details } }

    package var rateLimitFields: [HTTPField] {
        get { record.withLock { $0.rateLimitFields } }
        set { record.withLock { $0.rateLimitFields = newValue } }
    }

    var span: (any Span)? {
        get { record.withLock { $0.span } }
        set { record.withLock { $0.span = newValue } }
    }

    /// The trace that log lines name. Without one from the client, a trace begins here on first use, because most
    /// requests are answered without needing it.
    var traceIDs: TraceContext {
        get {
            record.withLock { record in
                let ids = record.traceIDs ?? TraceContext(following: TraceContext(header))
                record.traceIDs = ids
                return ids
            }
        }
        set { record.withLock { $0.traceIDs = newValue } }
    }

    /// Sends a request to Apple for the current request, if there is one, and records it.
    package static func recording(
        _ endpoint: UpstreamEndpoint, _ request: () async -> RequestSummary
    ) async -> RequestSummary {
        guard let context = current else { return await request() }
        var details = UpstreamDetails(endpoint)
        context.record { $0.upstream = details }
        let start = ContinuousClock.now
        let summary = await request()
        (details.outcome, details.took) = (summary.outcome.name, .now - start)
        context.record { $0.upstream = details }
        return summary
    }

    /// Runs work with this request as the current one.
    package func run<Value>(_ work: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self) {
            guard let span else { return try work() }
            return try InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }

    func run<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self) {
            guard let span else { return try await work() }
            return try await InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }
}

extension Logger.MetadataProvider {
    /// The IDs of the request and trace that a log line belongs to.
    package static let currentRequest = Logger.MetadataProvider {
        guard let context = RequestContext.current else { return [:] }
        let ids = context.traceIDs
        return ["request_id": "\(context.requestID.text)", "trace_id": "\(ids.traceID)", "span_id": "\(ids.spanID)"]
    }
}

// MARK: - Parts

/// The details of a log line beside status and duration.
package struct RequestDetails: Sendable {
    package var client: String?
    var bodyBytes: Int?
    /// The part of the duration in which the request waited for something to happen, as the client wished.
    package var waited = Duration.zero
    package var answer: AnswerDetails?
    package var notification: AcceptedNotification?
    /// The last request to Apple for it. A coalesced request has none.
    var upstream: UpstreamDetails?
    var problem: Problem.Code?
    /// The fault that the problem names, from a closed list.
    var fault: String?
    var limitedBy: [String] = []
    /// The limits in shadow mode that would have been exceeded.
    package var limitedInShadowBy: [String] = []

    mutating func add(_ problem: Problem) {
        self.problem = problem.code
        fault = problem.fault
        limitedBy = problem.violatedPolicies
    }
}

/// An object, because a cached answer has them for all requests that get it.
package final class AnswerDetails: Sendable {
    let verdict: String
    let reason: String?
    let environment: String?
    let source: String
    let cache: String
    /// The reason why the preferred source did not answer.
    let degraded: String?

    init(verdict: String, reason: String?, environment: String?, source: String, cache: String, degraded: String?) {
        (self.verdict, self.reason, self.environment) = (verdict, reason, environment)
        (self.source, self.cache, self.degraded) = (source, cache, degraded)
    }

    package convenience init(_ answer: Answer) {
        self.init(
            verdict: answer.verdict.name, reason: answer.verdict.reason,
            environment: answer.environment?.rawValue, source: answer.provenance.source.rawValue,
            cache: answer.provenance.cache.rawValue, degraded: answer.provenance.degradedReasons.first?.rawValue)
    }
}

/// The details of a request to Apple, with the same values as in the metrics.
package struct UpstreamDetails: Sendable {
    let api: String
    let environment: String
    var outcome: String?
    var took: Duration?
}

extension UpstreamDetails {
    init(_ endpoint: UpstreamEndpoint) {
        self.init(api: endpoint.api.rawValue, environment: endpoint.environment.rawValue)
    }
}
