// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird

/// One path, one method, and who answers.
struct Route: Sendable {
    let method: HTTPRequest.Method
    /// A path, with `{id}` for what a caller chooses; the log's `route`.
    let path: String
    let respond: @Sendable (Request, GatewayRequestContext) async throws -> Response
}

/// Which route a path belongs to.
enum RouteTemplate {
    /// Returns true for a path without empty segments, in the middle or at the end. The router drops these: one path would
    /// have endless spellings, for rules in front of us as well. The fast lane knows none of them.
    static func isExact(_ path: String) -> Bool {
        !path.contains("//") && (path.utf8.count == 1 || path.utf8.last != UInt8(ascii: "/"))
    }

    /// The path with `{id}` in place of what the caller chose.
    static func of(_ path: String) -> String {
        guard let prefix = PurgeRoute.path.firstRange(of: "{id}").map({ PurgeRoute.path[..<$0.lowerBound] }),
            path.hasPrefix(prefix), path.count > prefix.count, !path.dropFirst(prefix.count).contains("/")
        else { return path }
        return PurgeRoute.path
    }
}

extension Router<GatewayRequestContext> {
    /// A router for these routes, with the log and the problems around them.
    static func serving(_ routes: [Route], log: RequestLog) -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        let methods = Dictionary(grouping: routes, by: \.path).mapValues(allowed)
        router.add(middleware: RequestLogMiddleware(log: log))
        router.add(middleware: RateLimitMiddleware())
        router.add(middleware: ProblemMiddleware(methods: methods))
        for route in routes {
            router.on(RouterPath(route.path), method: route.method, use: route.respond)
        }
        return router
    }

    /// The methods of a path's routes, with those that come by themselves.
    private static func allowed(_ routes: [Route]) -> [HTTPRequest.Method] {
        let methods = routes.map(\.method)
        return methods + (methods.contains(.get) ? [.head] : []) + [.options]
    }
}
