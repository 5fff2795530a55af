// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
    /// Who holds the other end of the connection.
    private let socketAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        socketAddress = source.channel.remoteAddress
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// The address of who holds the other end of the connection; a proxy, perhaps.
    var peer: NetworkAddress? {
        socketAddress?.ipAddress.flatMap { NetworkAddress($0) }
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
        /// The verdict, its reason, who gave it, and where it was found.
        var verdict: String?
        var reason: String?
        var source: String?
        var cache: String?
        /// Why the source one would prefer did not answer.
        var degraded: String?
        /// The problem that was answered instead.
        var problem: Problem.Code?
        /// The limits that were reached, and those in shadow mode that would have been.
        var limitedBy: [String] = []
        var limitedInShadowBy: [String] = []
        /// What the answer says of the client's limits.
        var rateLimitFields: HTTPFields = [:]
    }

    private let facts = Mutex(Facts())

    /// Adds something.
    func record(_ change: (inout Facts) -> Void) {
        facts.withLock { change(&$0) }
    }

    /// All that is known by now.
    var recorded: Facts { facts.withLock { $0 } }
}
