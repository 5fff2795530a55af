// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes

/// One endpoint of a listener: a method, a path, what a request must bring, and the handler.
struct Route: Sendable {
    /// Answers a request, step by step.
    typealias Handler = @Sendable (RequestContext, ReservedBody) throws -> Step<Reply, any Error>

    /// The credentials that a request must bring.
    enum Authentication: Sendable {
        /// A client's API key, in `Authorization: Bearer`, `X-API-Key` or `Authorization: Basic`.
        case apiKey
        /// None: the listener is reached by operators only.
        case none
    }

    /// The method. A route for GET also takes HEAD.
    let method: HTTPRequest.Method
    /// The path, with `{id}` for a last segment that the client chooses, or `*` for every path; the log's `route`.
    let path: String
    /// The label of the path in metrics.
    let label: RouteLabel
    /// The credentials that a request must bring.
    let authentication: Authentication
    /// Answers a request.
    let handler: Handler

    /// Creates a route whose handler may compute and wait.
    init(
        _ method: HTTPRequest.Method, _ path: String, authentication: Authentication = .apiKey,
        handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.authentication = authentication
        self.handler = handler
        label = RouteLabel(rawValue: path) ?? .other
    }

    /// Creates a route whose reply is known at once.
    init(
        _ method: HTTPRequest.Method, _ path: String, authentication: Authentication = .apiKey,
        reply: @escaping @Sendable (RequestContext) throws -> Reply
    ) {
        self.init(method, path, authentication: authentication) { context, _ in .done(try reply(context)) }
    }
}

/// The routes of one listener. The same table yields dispatch, the `Allow` field, and the labels of logs and metrics.
struct RouteTable: Sendable {
    private var paths: [RoutePath] = []
    /// The credentials for paths without a route, so that a client without a key does not learn which paths exist.
    private let authenticationElsewhere: Route.Authentication

    /// Creates a table.
    /// - Parameter authenticationElsewhere: the credentials for paths without a route.
    init(_ routes: [Route], authenticationElsewhere: Route.Authentication = .apiKey) {
        self.authenticationElsewhere = authenticationElsewhere
        for route in routes {
            if let index = paths.firstIndex(where: { $0.template == route.path }) {
                paths[index].routes.append(route)
            } else {
                paths.append(RoutePath(route))
            }
        }
    }

    /// Every path that has a route.
    var templates: [String] { paths.map(\.template) }

    /// Returns the route for a request.
    /// - Parameter path: the path that was sent, without its query. It matches byte by byte: a path with an empty segment
    ///   or another case is another path.
    func match(_ method: HTTPRequest.Method, _ path: String) -> RouteMatch {
        for candidate in paths {
            if let parameter = candidate.parameter(in: path) { return candidate.match(method, parameter) }
        }
        return RouteMatch(outcome: .notFound, template: nil, label: .other, authentication: authenticationElsewhere)
    }
}

/// The outcome of a search in a route table.
struct RouteMatch: Sendable {
    /// What the table says of a request.
    enum Outcome: Sendable {
        /// This route answers, with the path segment that the client chose; empty for a path without one.
        case route(Route, parameter: String)
        /// The path has no route for this method.
        case methodNotAllowed(allowed: [HTTPRequest.Method])
        /// OPTIONS: the methods of the path (RFC 9110 §9.3.7).
        case options(allowed: [HTTPRequest.Method])
        /// The path has no route.
        case notFound
    }

    /// What the table says.
    let outcome: Outcome
    /// The path as it stands in the table; nil for a path without a route.
    let template: String?
    /// The label of the path in metrics.
    let label: RouteLabel
    /// The credentials that the request must bring.
    let authentication: Route.Authentication
}

/// One path of a table with its routes, at least one.
private struct RoutePath: Sendable {
    let template: String
    var routes: [Route]
    /// The part of the template in front of `{id}`; nil for a path without parameter.
    private let prefix: String?

    init(_ route: Route) {
        template = route.path
        routes = [route]
        prefix = route.path.hasSuffix("{id}") ? String(route.path.dropLast(4)) : nil
    }

    /// Returns the parameter in a path; empty for a path without one; nil for a path that does not match.
    func parameter(in path: String) -> String? {
        guard let prefix else { return path == template || template == "*" ? "" : nil }
        guard path.hasPrefix(prefix) else { return nil }
        let rest = path.utf8.dropFirst(prefix.utf8.count)
        return rest.isEmpty || rest.contains(UInt8(ascii: "/")) ? nil : String(Substring(rest))
    }

    func match(_ method: HTTPRequest.Method, _ parameter: String) -> RouteMatch {
        RouteMatch(
            outcome: outcome(method, parameter), template: template, label: routes[0].label,
            authentication: routes[0].authentication)
    }

    private func outcome(_ method: HTTPRequest.Method, _ parameter: String) -> RouteMatch.Outcome {
        let wanted = method == .head ? .get : method
        if let route = routes.first(where: { $0.method == wanted }) { return .route(route, parameter: parameter) }
        return method == .options ? .options(allowed: allowed) : .methodNotAllowed(allowed: allowed)
    }

    private var allowed: [HTTPRequest.Method] {
        let methods = routes.map(\.method)
        return methods + (methods.contains(.get) ? [.head] : []) + [.options]
    }
}
