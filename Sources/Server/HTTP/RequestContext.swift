// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Hummingbird
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Synchronization

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
    /// The verdict, its reason, who gave it, and where it was found.
    let verdict: String
    let reason: String?
    let source: String
    let cache: String
    /// Why the source one would prefer did not answer.
    let degraded: String?

    init(_ answer: Answer) {
        (verdict, reason) = (answer.verdict.name, answer.verdict.reason)
        (source, cache) = (answer.provenance.source.rawValue, answer.provenance.cache.rawValue)
        degraded = answer.provenance.degradedReasons.first?.rawValue
    }
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
        /// The problem that was answered instead.
        var problem: Problem.Code?
        /// The limits that were reached, and those in shadow mode that would have been.
        var limitedBy: [String] = []
        var limitedInShadowBy: [String] = []
    }

    private let isLogged: Bool
    private let facts = Mutex(Facts())
    private let limits: Mutex<HTTPFields> = Mutex([:])

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

    /// What the answer says of the client's limits.
    var rateLimitFields: HTTPFields {
        get { limits.withLock { $0 } }
        set { limits.withLock { $0 = newValue } }
    }
}
