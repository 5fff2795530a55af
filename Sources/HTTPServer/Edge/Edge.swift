// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import HTTPTypes
internal import NIOCore
internal import Synchronization
internal import Telemetry

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
    /// Returns the client that a certificate names; nil if it names none.
    package var identify: @Sendable (ClientCertificate) -> Client? = { _ in nil }
    /// The hosts served without an API key.
    package var hosts = HostNames()
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
    /// The time that an idle connection has for one more request when the server stops after a delay.
    var idleGrace = TimeAmount.zero
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
            authenticate: authenticate, hosts: http.hostNames.adding(hostOf: http.listener),
            bodyLimit: http.limits.body, headersDeadline: TimeAmount(http.deadlines.headers),
            requestDeadline: TimeAmount(http.deadlines.request),
            answerDeadline: TimeAmount(http.deadlines.answer), idleDeadline: TimeAmount(http.deadlines.idle),
            shutdownGrace: TimeAmount(shutdown.grace), idleGrace: TimeAmount(shutdown.drainDelay))
    }

    /// Returns the client that sends a request; nil without the credentials that the route requires. Called before
    /// memory is spent on the body, so a request without valid credentials costs a header and one HMAC. Where the
    /// credentials are in the body, any client may send a body.
    func client(of header: RequestHeader, for match: RouteMatch) -> Client? {
        switch match.authentication {
        case .apiKey: authenticate(header.credentials)
        case .pluginKey: authenticate(header.pluginCredentials)
        case .body: .unidentified
        case .none, .probe: .loopback
        }
    }

    /// Returns the reason to refuse a request of a known client: a page in a browser may have sent it.
    func refusal(
        of header: RequestHeader, from client: Client, for match: RouteMatch, hasTLS: Bool
    ) -> EdgeRefusal? {
        // A page that has the key of an app gains nothing that the app's owner lacks.
        guard match.authentication != .body else { return nil }
        // A page that reads a health check learns no more than that this port answers.
        if client.isKeyless, !match.isProbe, !hosts.permits(header.authority) { return .misdirected }
        let isHarmless =
            switch header.method {
            // A page has no API key to send with it, but a browser may have a certificate. Nearly all requests are for POST.
            case .post: !client.isProvenByBrowsers
            case .get, .head, .options, .trace: true
            default: false
            }
        return !isHarmless && header.hasForeignOrigin(hasTLS: hasTLS) ? .foreignOrigin : nil
    }
}

/// The stage of the process, for the listeners and `/readyz`. It only moves forward.
package final class ServerLifecycle: Sendable {
    package enum Stage: CaseIterable, Comparable, Sendable {
        case starting, ready, draining
    }

    private struct State {
        var stage = Stage.starting
        /// The times at which draining began, and from which every answer is the last of its connection.
        var ramp: (start: NIODeadline, end: NIODeadline)?
    }

    private let current = Mutex(State())

    package init() {}

    package var stage: Stage { current.withLock { $0.stage } }

    package func advance(to stage: Stage) {
        current.withLock { $0.stage = max($0.stage, stage) }
    }

    /// Begins to drain. Answers end their connections with a share that rises to all within half of the delay: clients that
    /// connect again all at once would meet the remaining nodes with a burst of handshakes.
    package func drain(over delay: Duration) {
        drain(over: TimeAmount(delay), at: .now())
    }

    func drain(over delay: TimeAmount, at now: NIODeadline) {
        current.withLock { state in
            guard state.stage < .draining else { return }
            state = State(stage: .draining, ramp: (now, now + .nanoseconds(delay.nanoseconds / 2)))
        }
    }

    /// True if the process drains with a delay: clients have time to find out.
    var drainsSlowly: Bool { current.withLock { $0.ramp.map { $0.start < $0.end } ?? false } }

    /// Returns true if an answer that begins now is the last of its connection.
    /// - Parameter draw: an even random number in 0..<1.
    func endsConnection(at now: NIODeadline, draw: @autoclosure () -> Double = .random(in: 0..<1)) -> Bool {
        let state = current.withLock { $0 }
        guard state.stage == .draining else { return false }
        guard let (start, end) = state.ramp, now < end else { return true }
        return draw() < Double((now - start).nanoseconds) / Double((end - start).nanoseconds)
    }
}

/// The reason why the edge answers a request itself and closes the connection. The raw values appear in metrics.
package enum EdgeRefusal: String, Error, SeriesLabels {
    /// Not HTTP/1.1, both `Transfer-Encoding` and `Content-Length`, no single `Host`, or cut short.
    case malformed
    /// A version other than HTTP/1.0 and HTTP/1.1 (RFC 9110 §15.6.6).
    case version
    /// An unknown method, or an unknown transfer coding before `chunked` (RFC 9110 §15.6.2, RFC 9112 §6.1).
    case notImplemented = "not_implemented"
    /// `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferCoding = "transfer_coding"
    /// A request target beyond its limit (RFC 9112 §3).
    case targetTooLong = "target_too_long"
    /// A host that this listener does not serve (RFC 9110 §15.5.20): see `HostNames`.
    case misdirected
    /// A change requested by a page of another site.
    case foreignOrigin = "foreign_origin"
    /// The address named by a trusted proxy has reached its limit of requests in flight, or an address its share of the
    /// bodies in flight.
    case tooManyOfAddress = "too_many_of_address"
    case unauthenticated
    /// One field, or all fields together, beyond the limit.
    case headerTooLarge = "header_too_large"
    case bodyTooLarge = "body_too_large"
    /// The body is larger than the share of the budget that one address may have before its sender is known.
    case bodyBeyondShare = "body_beyond_share"
    case bodyTooFragmented = "body_too_fragmented"
    case headersLate = "headers_late"
    case bodyLate = "body_late"
    /// The bodies in flight take the whole budget.
    case overloaded
    case answerLate = "answer_late"
    /// `Expect` with a value other than `100-continue` (RFC 9110 §10.1.1).
    case expectation
    /// `Content-Encoding` with a coding: bodies are not decompressed (RFC 9110 §15.5.16).
    case contentCoding = "content_coding"

    static let labelNames = ["cause"]
}
