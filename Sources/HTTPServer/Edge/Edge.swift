// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import HTTPTypes
internal import NIOCore
internal import Synchronization

/// The state that all connections of one listener share.
struct Edge: Sendable {
    let rules: EdgeRules
    let budget: BodyBudget
    /// The stage of the process. While it drains, each answer is the last of its connection.
    let lifecycle: ServerLifecycle
    let pipeline: RequestPipeline
    /// The counters of requests and connections; nil for the admin plane.
    var metrics: EdgeMetrics?
    /// The limits per source address on this listener; nil for none.
    var sources: SourceLimits?
}

/// The limits and deadlines that the edge enforces on each connection.
package struct EdgeRules: Sendable {
    /// Returns the client with these credentials; nil if they are not valid.
    var authenticate: @Sendable (Credentials) -> Client? = { _ in .loopback }
    /// The hosts served without an API key.
    package var hosts = HostRule()
    var bodyLimit: ByteCount
    /// The time from the connection to the end of the first header.
    var headersDeadline: TimeAmount
    /// The time from the end of a header to the end of its body.
    var requestDeadline: TimeAmount
    /// The time from the end of a request to the end of its answer.
    var answerDeadline: TimeAmount
    /// The time from the end of an answer to the end of the next header.
    var idleDeadline: TimeAmount
    /// The time from the beginning of the shutdown to the end of the last answer.
    var shutdownGrace: TimeAmount
    /// The time from the last answer to the end of the connection, if the client does not close it before.
    var lingerDeadline = TimeAmount.seconds(2)
    /// The linger deadline after refusing an unknown client. It must last until the answer arrives, and no longer:
    /// meanwhile the connection takes a slot that a client could use.
    var unauthenticatedLingerDeadline = TimeAmount.milliseconds(500)
}

extension EdgeRules {
    package init(
        _ http: HTTPConfiguration, shutdown: ShutdownConfiguration,
        authenticate: @escaping @Sendable (Credentials) -> Client? = { _ in .loopback }
    ) {
        self.init(
            authenticate: authenticate, hosts: HostRule(names: http.hostNames.adding(hostOf: http.listener)),
            bodyLimit: http.limits.body, headersDeadline: TimeAmount(http.deadlines.headers),
            requestDeadline: TimeAmount(http.deadlines.request),
            answerDeadline: TimeAmount(http.deadlines.answer), idleDeadline: TimeAmount(http.deadlines.idle),
            shutdownGrace: TimeAmount(shutdown.grace))
    }

    /// Returns the client that sends a request; nil without the credentials that the route requires. Called before
    /// memory is spent on the body, so a request without valid credentials costs a header and one HMAC. Where the
    /// credentials are in the body, any client may send a body.
    func client(of header: RequestHeader, for match: RouteMatch) -> Client? {
        switch match.authentication {
        case .apiKey: authenticate(header.credentials)
        case .body: .unidentified
        case .none: .loopback
        }
    }

    /// Returns the reason to refuse a request of a known client: a page in a browser may have sent it.
    func refusal(of header: RequestHeader, from client: Client, for match: RouteMatch) -> EdgeRefusal? {
        // A page that has the key of an app gains nothing that the app's owner lacks.
        guard match.authentication != .body else { return nil }
        if client.isKeyless, !hosts.permits(header.authority, path: header.path) { return .misdirected }
        let isHarmless =
            switch header.method {
            // A page has no API key to send with it. Nearly all requests are for POST.
            case .post: !client.isKeyless
            case .get, .head, .options, .trace: true
            default: false
            }
        guard !isHarmless, header.hasOrigin else { return nil }
        return header.origin.isForeignOrigin(to: header.authority) ? .foreignOrigin : nil
    }
}

/// The stage of the process, for the listeners and `/readyz`. It only moves forward.
package final class ServerLifecycle: Sendable {
    package enum Stage: CaseIterable, Comparable, Sendable {
        case starting, ready, draining
    }

    private let current = Mutex(Stage.starting)

    package init() {}

    package var stage: Stage { current.withLock { $0 } }

    package func advance(to stage: Stage) {
        current.withLock { $0 = max($0, stage) }
    }
}
