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

/// One request from its header to its answer. All work for a request holds it: handlers read what was sent and record
/// what became of it; the log, traces and header fields of the answer are made of the record.
///
/// A class, because it is handed on many times.
package final class RequestContext: Sendable {
    /// The context of the request that the current task works for. Log lines and spans that are written far from the
    /// request, by the connection to Apple or to Redis, find it here.
    @TaskLocal static var current: RequestContext?

    /// The header, as the edge let it pass.
    package let header: RequestHeader
    /// The result of the search in the route table.
    package let match: RouteMatch
    /// The client.
    package let client: Client
    /// The other end of the connection; a proxy, perhaps.
    package let peer: Peer
    /// The start of the work.
    let start = ContinuousClock.now

    private let isLogged: Bool
    private let record = Mutex(Record())

    private struct Record {
        var facts = RequestFacts()
        var rateLimitFields: [HTTPField] = []
        var traceIDs: TraceIDs?
        var span: (any Span)?
    }

    /// Creates the context of a request.
    /// - Parameter isLogged: false if facts need not be recorded, because no log line or span is made of them.
    init(header: RequestHeader, match: RouteMatch, client: Client, peer: Peer, isLogged: Bool = true) {
        self.header = header
        self.match = match
        self.client = client
        self.peer = peer
        self.isLogged = isLogged
    }

    /// Joins the log lines and the answer of this request.
    var requestID: RequestID { header.requestID }
}

// MARK: - Record

extension RequestContext {
    /// Adds facts for the log.
    package func record(_ change: (inout RequestFacts) -> Void) {
        if isLogged { record.withLock { change(&$0.facts) } }
    }

    /// The facts so far.
    var facts: RequestFacts { record.withLock { $0.facts } }

    /// The fields of the answer about the client's limits.
    package var rateLimitFields: [HTTPField] {
        get { record.withLock { $0.rateLimitFields } }
        set { record.withLock { $0.rateLimitFields = newValue } }
    }

    /// The request's span; nil without a tracer.
    var span: (any Span)? {
        get { record.withLock { $0.span } }
        set { record.withLock { $0.span = newValue } }
    }

    /// The trace that log lines name. A trace begins here if the sender began none; but only on the first use, for most
    /// requests are answered without one.
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

    /// Makes a request to Apple for the current request, if there is one, and records it.
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

    /// Does work in the name of this request.
    package func run<Value>(_ work: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(self) {
            guard let span else { return try work() }
            return try InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }

    /// Does work in the name of this request that may wait.
    func run<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self) {
            guard let span else { return try await work() }
            return try await InstrumentationContext.$current.withValue(span.context, operation: work)
        }
    }
}

extension Logger.MetadataProvider {
    /// The request and trace that a log line belongs to, if it belongs to a request.
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

    /// Creates the peer of a channel, which forgets the address when it is closed.
    init(_ channel: any Channel) {
        socketAddress = channel.remoteAddress
    }

    /// Its address.
    package var address: NetworkAddress? {
        socketAddress?.ipAddress.flatMap { NetworkAddress($0) }
    }
}

/// The facts of a log line beside status and duration.
package struct RequestFacts: Sendable {
    /// The client's name in the clients file.
    var client: String?
    /// The bytes of the body.
    var bodyBytes: Int?
    /// The answer.
    package var answer: AnswerFacts?
    /// The last request to Apple that was made for it. A request that joined another's flight has none.
    var upstream: UpstreamFacts?
    /// The problem that was answered instead.
    var problem: Problem.Code?
    /// The limits that were reached.
    var limitedBy: [String] = []
    /// The limits in shadow mode that would have been reached.
    package var limitedInShadowBy: [String] = []

    /// Adds a problem.
    mutating func add(_ problem: Problem) {
        self.problem = problem.code
        limitedBy = problem.violatedPolicies
    }
}

/// The facts of an answer.
package struct AnswerFacts: Sendable {
    /// The name of the verdict.
    let verdict: String
    /// The reason for the verdict.
    let reason: String?
    /// The environment of the receipt.
    let environment: String?
    /// The source of the verdict.
    let source: String
    /// The cache in which it was found.
    let cache: String
    /// The reason why the preferred source did not answer.
    let degraded: String?

    /// Creates the facts of an answer.
    package init(
        verdict: String, reason: String?, environment: String?, source: String, cache: String, degraded: String?
    ) {
        self.verdict = verdict
        self.reason = reason
        self.environment = environment
        self.source = source
        self.cache = cache
        self.degraded = degraded
    }
}

/// The facts of a request to Apple, in the words of the metrics.
package struct UpstreamFacts: Sendable {
    /// The environment that was asked.
    let environment: String
    /// The outcome; nil while there is none.
    var outcome: String?
    /// The duration; nil while there is no outcome.
    var took: Duration?

    /// Creates the facts of a request to Apple.
    package init(environment: String, outcome: String? = nil, took: Duration? = nil) {
        self.environment = environment
        self.outcome = outcome
        self.took = took
    }
}
