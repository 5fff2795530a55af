// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Hummingbird
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Receipts
internal import Synchronization
internal import Tracing

/// What a request carries through the middleware.
struct GatewayRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Filled in by the route, read by the log.
    let outcome = RequestOutcome()
    /// Who holds the other end of the connection; a proxy, perhaps.
    let peer: Peer

    init(source: ApplicationRequestContextSource) {
        peer = Peer(source.channel)
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// The other end of a connection.
struct Peer: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) {
        self.channel = channel
    }

    /// Its address. Finding it out is a system call, which only limits for addresses are worth.
    var address: NetworkAddress? {
        channel.remoteAddress?.ipAddress.flatMap { NetworkAddress($0) }
    }
}

/// What a log line says of an answer.
struct AnswerFacts: Sendable {
    /// The verdict, its reason, the receipt's environment, who gave it, and where it was found.
    let verdict: String
    let reason: String?
    let environment: String?
    let source: String
    let cache: String
    /// Why the source one would prefer did not answer.
    let degraded: String?
}

extension AnswerFacts {
    init(_ answer: Answer) {
        self.init(
            verdict: answer.verdict.name, reason: answer.verdict.reason,
            environment: answer.receipt?.environment.rawValue, source: answer.provenance.source.rawValue,
            cache: answer.provenance.cache.rawValue, degraded: answer.provenance.degradedReasons.first?.rawValue)
    }
}

/// The last question to Apple that was asked for a request, in the words of the metrics.
struct UpstreamFacts: Sendable {
    let environment: String
    /// What came of it, and after how long; nil while nothing has.
    var outcome: String?
    var took: Duration?
}

/// What became of a request, for its log line. A box, because a context is copied on its way to the route.
final class RequestOutcome: Sendable {
    /// What the log line says beside status and duration.
    struct Facts: Sendable {
        /// The client's name in the clients file.
        var client: String?
        /// The bytes of the body.
        var bodyBytes: Int?
        /// The answer.
        var answer: AnswerFacts?
        /// What Apple was asked for it. Who waits for another request's question has none.
        var upstream: UpstreamFacts?
        /// The problem that was answered instead.
        var problem: Problem.Code?
        /// The limits that were reached, and those in shadow mode that would have been.
        var limitedBy: [String] = []
        var limitedInShadowBy: [String] = []
    }

    private let isLogged: Bool
    private let facts = Mutex(Facts())
    private let limits: Mutex<HTTPFields> = Mutex([:])
    private let trace: Mutex<Trace> = Mutex(Trace())

    private struct Trace {
        var ids: TraceIDs?
        var span: (any Span)?
    }

    /// - Parameter isLogged: whether anybody will ask for the facts.
    init(isLogged: Bool = true) {
        self.isLogged = isLogged
    }

    /// Adds something for the log.
    func record(_ change: (inout Facts) -> Void) {
        if isLogged { facts.withLock { change(&$0) } }
    }

    /// All that is known by now.
    var recorded: Facts { facts.withLock { $0 } }

    /// What log lines say of the request's trace; made when it is asked for first.
    func traceIDs(_ make: () -> TraceIDs) -> TraceIDs {
        trace.withLock { trace in
            let ids = trace.ids ?? make()
            trace.ids = ids
            return ids
        }
    }

    /// The request's span; nil if no tracer keeps one.
    var span: (any Span)? {
        get { trace.withLock { $0.span } }
        set { trace.withLock { $0.span = newValue } }
    }

    /// What the answer says of the client's limits.
    var rateLimitFields: HTTPFields {
        get { limits.withLock { $0 } }
        set { limits.withLock { $0 = newValue } }
    }
}
