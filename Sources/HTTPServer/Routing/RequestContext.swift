// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPTypes
package import Logging
internal import NIOCore
internal import Receipts
package import Settings
internal import Synchronization
internal import Telemetry
internal import Tracing

/// One request from its header to its answer. Handlers read the request here and record facts; the log, traces and
/// header fields of the answer are made from them.
///
/// A class, because it is passed on many times.
package final class RequestContext: Sendable {
    /// The context of the current task's request. Log lines and spans written far from it, by the connections to Apple
    /// and Redis, find it here.
    @TaskLocal static var current: RequestContext?

    /// The header, as the edge accepted it.
    package let header: RequestHeader
    /// The result of the route search.
    package let match: RouteMatch
    package let client: Client
    /// The other end of the connection, which may be a proxy.
    package let peer: Peer
    /// The time at which the work began.
    let start = ContinuousClock.now

    private let isLogged: Bool
    private let record = Mutex(Record())

    private struct Record {
        var facts = RequestFacts()
        var rateLimitFields: [HTTPField] = []
        var traceIDs: TraceIDs?
        var span: (any Span)?
    }

    /// - Parameter isLogged: false if facts need not be recorded, because no log line or span is made of them.
    init(header: RequestHeader, match: RouteMatch, client: Client, peer: Peer, isLogged: Bool = true) {
        self.header = header
        self.match = match
        self.client = client
        self.peer = peer
        self.isLogged = isLogged
    }

    /// The ID that joins the log lines and the answer of this request.
    var requestID: RequestID { header.requestID }
}

// MARK: - Record

extension RequestContext {
    package func record(_ change: (inout RequestFacts) -> Void) {
        if isLogged { record.withLock { change(&$0.facts) } }
    }

    var facts: RequestFacts { record.withLock { $0.facts } }

    /// The header fields that tell the client its limits.
    package var rateLimitFields: [HTTPField] {
        get { record.withLock { $0.rateLimitFields } }
        set { record.withLock { $0.rateLimitFields = newValue } }
    }

    /// The request's span; nil without a tracer.
    var span: (any Span)? {
        get { record.withLock { $0.span } }
        set { record.withLock { $0.span = newValue } }
    }

    /// The trace that log lines name. Without one from the sender, a trace begins here on first use, because most
    /// requests are answered without needing it.
    var traceIDs: TraceIDs {
        get {
            record.withLock { record in
                let ids = record.traceIDs ?? TraceIDs(following: TraceContext(header))
                record.traceIDs = ids
                return ids
            }
        }
        set { record.withLock { $0.traceIDs = newValue } }
    }

    /// Sends a request to Apple for the current request, if there is one, and records it.
    package static func recording(
        _ endpoint: UpstreamEndpoint, _ request: () async -> UpstreamResponse
    ) async -> UpstreamResponse {
        let context = current, environment = endpoint.environment.rawValue
        context?.record { $0.upstream = UpstreamFacts(environment: environment) }
        let start = ContinuousClock.now
        let response = await request()
        let took = ContinuousClock.now - start
        context?.record {
            $0.upstream = UpstreamFacts(
                environment: environment, outcome: UpstreamOutcome(response.reply).name, took: took)
        }
        return response
    }

    /// Runs work with this request as the current one.
    package func run<Value>(_ work: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self) {
            guard let span else { return try work() }
            return try InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }

    /// Runs asynchronous work with this request as the current one.
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

/// The other end of a connection.
package struct Peer: Sendable {
    private let socketAddress: SocketAddress?

    /// Creates the peer of a channel, which drops the address when it is closed.
    init(_ channel: any Channel) {
        socketAddress = channel.remoteAddress
    }

    package var address: NetworkAddress? {
        socketAddress?.ipAddress.flatMap { NetworkAddress($0) }
    }
}

/// The facts of a log line beside status and duration.
package struct RequestFacts: Sendable {
    /// The client's name from the clients file.
    var client: String?
    /// The number of bytes of the body.
    var bodyBytes: Int?
    package var answer: AnswerFacts?
    /// The last request to Apple for it. A coalesced request has none.
    var upstream: UpstreamFacts?
    /// The problem that was answered.
    var problem: Problem.Code?
    /// The limits that were exceeded.
    var limitedBy: [String] = []
    /// The limits in shadow mode that would have been exceeded.
    package var limitedInShadowBy: [String] = []

    mutating func add(_ problem: Problem) {
        self.problem = problem.code
        limitedBy = problem.violatedPolicies
    }
}

/// The facts of an answer.
package struct AnswerFacts: Sendable {
    let verdict: String
    let reason: String?
    let environment: String?
    let source: String
    /// The cache that held it.
    let cache: String
    /// The reason why the preferred source did not answer.
    let degraded: String?
}

extension AnswerFacts {
    package init(_ answer: Answer) {
        self.init(
            verdict: answer.verdict.name, reason: answer.verdict.reason,
            environment: answer.environment?.rawValue, source: answer.provenance.source.rawValue,
            cache: answer.provenance.cache.rawValue, degraded: answer.provenance.degradedReasons.first?.rawValue)
    }
}

/// The facts of a request to Apple, with the same values as in the metrics.
package struct UpstreamFacts: Sendable {
    let environment: String
    /// The outcome; nil while there is none.
    var outcome: String?
    /// The duration; nil while there is no outcome.
    var took: Duration?
}
