// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPTypes
internal import NIOCore
internal import Receipts
package import Resilience

/// One endpoint of a listener: a method, a path, the required credentials, and the handler. A class, because each request
/// refers to its route and never changes it.
package final class Route: Sendable {
    package typealias Handler = @Sendable (RequestContext, ReservedBody) throws -> Step<Reply, any Error>

    /// Writes a problem in the format of the route's answers.
    package typealias ProblemWriter = @Sendable (_ problem: Problem, _ requestID: String) -> Reply

    package enum Authentication: Hashable, Sendable {
        /// The API key of a backend, in `Authorization: Bearer`, `X-API-Key` or `Authorization: Basic`.
        case apiKey
        /// The API key of a client whose apps have this plugin, also as `apiKey` in the query.
        case pluginKey(PluginProtocol)
        /// A key or a signature in the body: the handler checks it, and the edge accepts the body of any client. Also for a
        /// preflight, which has no credentials.
        case body
        /// None: only operators reach the listener.
        case none
        /// None, for any host: a health check of an orchestrator or load balancer. It is neither counted nor logged, and
        /// takes no slot of its address.
        case probe
    }

    package enum Executor: Sendable {
        /// The connection's event loop, unless the body is large.
        case eventLoop
        /// Another thread, because the work takes milliseconds.
        case thread
    }

    /// A route for GET also takes HEAD.
    let method: HTTPRequest.Method
    /// The path, with `{id}` for a variable last segment, or `*` for every path; the log's `route`. With several
    /// parameters and no word between them, every path matches that begins like the template before the first parameter.
    let path: String
    let label: RouteLabel
    let authentication: Authentication
    let executor: Executor
    /// The maximum size of a body; nil for the listener's maximum.
    let bodyLimit: ByteCount?
    /// The time that a request may wait for something to happen, beside the deadline of every answer.
    let waitLimit: TimeAmount
    /// True if a wait for an answer ends once the client has closed its half of the connection.
    let endsWithClient: Bool
    let problemWriter: ProblemWriter
    /// The origins of pages that may read the answers; nil for a route that answers no page.
    let origins: WebOrigins?
    /// True if the path may end in one more slash.
    let allowsTrailingSlash: Bool
    /// Returns false while the route is switched off, as if it were not in the table.
    let isOffered: @Sendable () -> Bool
    let handler: Handler

    package init(
        _ method: HTTPRequest.Method, _ path: String, authentication: Authentication = .apiKey,
        on executor: Executor = .eventLoop, bodyLimit: ByteCount? = nil, waitLimit: Duration = .zero,
        endsWithClient: Bool = false, allowsTrailingSlash: Bool = false, origins: WebOrigins? = nil,
        problems problemWriter: @escaping ProblemWriter = { Reply($0, requestID: $1) },
        isOffered: @escaping @Sendable () -> Bool = { true }, handler: @escaping Handler
    ) {
        (self.method, self.path, self.authentication, self.executor) = (method, path, authentication, executor)
        (self.bodyLimit, self.waitLimit, self.endsWithClient) = (bodyLimit, TimeAmount(waitLimit), endsWithClient)
        (self.problemWriter, self.isOffered, self.handler) = (problemWriter, isOffered, handler)
        (self.allowsTrailingSlash, self.origins) = (allowsTrailingSlash, origins)
        label = RouteLabel(rawValue: path) ?? .other
    }

    /// Creates a route with an immediate reply.
    package convenience init(
        _ method: HTTPRequest.Method, _ path: String, authentication: Authentication = .apiKey,
        on executor: Executor = .eventLoop, reply: @escaping @Sendable (RequestContext) throws -> Reply
    ) {
        self.init(method, path, authentication: authentication, on: executor) { context, _ in .done(try reply(context))
        }
    }

    /// Creates a health check, which has no body.
    /// - Parameter endsConnection: true where strangers may check: as after a refusal, they keep no connection.
    package convenience init(
        probe path: String, endsConnection: Bool = false, reply: @escaping @Sendable () throws -> Reply
    ) {
        let ending: @Sendable (Reply) -> Reply = { reply in
            var reply = reply
            reply.isLast = endsConnection
            return reply
        }
        self.init(
            .get, path, authentication: .probe, bodyLimit: .bytes(0),
            problems: { problem, requestID in ending(Reply(problem, requestID: requestID)) }
        ) { _, _ in .done(ending(try reply())) }
    }
}

/// The routes of one path, at least one route.
final class RoutePath: Sendable {
    let template: String
    let routes: [Route]
    /// The methods that are answered, as in `Allow` (RFC 9110 §10.2.1).
    let allowed: String
    /// The part of the template before its first parameter; nil for a path without parameters.
    private let prefix: String?
    /// The segments from the first parameter on, nil for a parameter; empty if any rest of a path matches.
    private let segments: [String?]
    private let allowsTrailingSlash: Bool

    fileprivate init(_ template: String, _ routes: [Route]) {
        self.template = template
        self.routes = routes
        allowed = Problem.allowed(routes.map(\.method.rawValue))
        prefix = template.firstIndex(of: "{").map { String(template[..<$0]) }
        let rest = template.drop { $0 != "{" }.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) }
        segments = rest.count > 1 && rest.allSatisfy { $0 == nil } ? [] : rest
        allowsTrailingSlash = routes[0].allowsTrailingSlash
    }

    /// Returns the parameter in a path, or the path from the first of several parameters on. Empty for a path without
    /// parameters, nil for a path that does not match.
    fileprivate func parameter(in sent: Span<UInt8>) -> String? {
        let hasSlash = allowsTrailingSlash && sent.count > 1 && sent[sent.count - 1] == UInt8(ascii: "/")
        let path = hasSlash ? sent.extracting(..<(sent.count - 1)) : sent
        guard let prefix else { return path.equals(template.utf8.span) || template == "*" ? "" : nil }
        guard path.begins(with: prefix), path.count > prefix.utf8.count else { return nil }
        let rest = path.extracting(prefix.utf8.count...)
        return matches(rest) ? String(copying: rest) : nil
    }

    private func matches(_ rest: Span<UInt8>) -> Bool {
        var start = 0
        for (index, word) in segments.enumerated() {
            let slash = rest.firstIndex(of: UInt8(ascii: "/"), from: start)
            guard (slash == nil) == (index == segments.count - 1) else { return false }
            let end = slash ?? rest.count
            if let word, !rest.extracting(start..<end).equals(word.utf8.span) { return false }
            start = end + 1
        }
        return true
    }

    fileprivate func route(for method: HTTPRequest.Method) -> Route? {
        let wanted = method == .head ? .get : method
        return routes.first { $0.method == wanted }
    }
}

/// The routes of one listener. The table determines dispatch, the `Allow` field, and the labels of logs and metrics.
package struct RouteTable: Sendable {
    private let paths: [RoutePath]
    /// The credentials for paths without a route, so that a client without a key does not learn which paths exist.
    private let authenticationElsewhere: Route.Authentication

    package init(_ routes: [Route], authenticationElsewhere: Route.Authentication = .apiKey) {
        self.authenticationElsewhere = authenticationElsewhere
        var templates: [String] = []
        for route in routes where !templates.contains(route.path) { templates.append(route.path) }
        paths = templates.map { template in RoutePath(template, routes.filter { $0.path == template }) }
    }

    /// Returns the credentials for the methods that a path does not have. A path that is open to health checks is open to
    /// no other request. A browser sends a preflight without credentials.
    private func authentication(elsewhereAt path: RoutePath, _ method: HTTPRequest.Method) -> Route.Authentication {
        let first = path.routes[0]
        if method == .options, first.origins != nil { return .body }
        return first.authentication == .probe ? authenticationElsewhere : first.authentication
    }

    var templates: [String] { paths.map(\.template) }

    /// - Parameter path: the path as sent, without its query. It must match byte by byte: an empty segment or another
    ///   case makes another path. Only some routes ignore a slash at the end.
    func match(_ method: HTTPRequest.Method, _ path: Span<UInt8>) -> RouteMatch {
        for candidate in paths {
            guard let parameter = candidate.parameter(in: path), candidate.routes[0].isOffered() else { continue }
            let route = candidate.route(for: method)
            return RouteMatch(
                path: candidate, route: route, parameter: parameter,
                authentication: route?.authentication ?? authentication(elsewhereAt: candidate, method))
        }
        return RouteMatch(path: nil, route: nil, parameter: "", authentication: authenticationElsewhere)
    }
}

/// The outcome of a search in a route table.
package struct RouteMatch: Sendable {
    /// The path; nil if no path of the table matches.
    let path: RoutePath?
    /// The route; nil if the path has none for the method.
    let route: Route?
    /// The variable path segment, or the path from the first of several on; empty for a path without variable segments.
    package let parameter: String
    let authentication: Route.Authentication

    var isProbe: Bool { authentication == .probe }

    /// The route, or the first of the path, whose problems a request with another method gets.
    private var nearestRoute: Route? { route ?? path?.routes[0] }

    /// A health check has no body; a body for another method is refused with the method.
    var bodyLimit: ByteCount? {
        let isElsewhere = route == nil && path?.routes[0].authentication == .probe
        return isElsewhere ? nil : nearestRoute?.bodyLimit
    }

    /// The origins of pages that may read the answers; nil if no page may.
    var origins: WebOrigins? { nearestRoute?.origins }

    var waitLimit: TimeAmount { nearestRoute?.waitLimit ?? .zero }

    func reply(to problem: Problem, requestID: String) -> Reply {
        nearestRoute?.problemWriter(problem, requestID) ?? Reply(problem, requestID: requestID)
    }

    /// The path as in the table; nil for a path without a route.
    var template: String? { path?.template }
    var label: RouteLabel { path?.routes[0].label ?? .other }
}
