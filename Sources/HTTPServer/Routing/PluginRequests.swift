// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes

// The plugins in apps send requests with keys that anyone can read in the app, from pages in a WebView.

extension Route.Authentication {
    /// Throws unless a client may use routes of this kind: backends and apps use different ones, so that a key in an app
    /// gives no more than the app needs, and no key of a backend gets into an app.
    func require(permissionOf client: Client) throws(Problem) {
        switch self {
        case .apiKey where !client.plugins.isEmpty: throw .onlyForBackends(client.plugins)
        case .pluginKey(let plugin) where !client.plugins.contains(plugin): throw .onlyForPlugin(plugin)
        case .apiKey, .pluginKey, .body, .none, .probe: break
        }
    }
}

extension Problem {
    fileprivate static func onlyForBackends(_ plugins: Set<PluginProtocol>) -> Problem {
        let paths = plugins.map(\.path).sorted().joined(separator: " and ")
        return Problem(
            .forbidden, .operationNotPermitted, "This key is for apps and permits only \(paths). Use a backend's key.")
    }

    fileprivate static func onlyForPlugin(_ plugin: PluginProtocol) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This key is not for apps. Use a key of a client with plugins: [\(plugin.rawValue)] in the clients file.")
    }
}

extension Reply {
    /// Adds the fields that let a page read this answer, whatever its status (Fetch, "CORS check").
    mutating func addOriginFields(to request: RequestContext) {
        guard let origins = request.match.origins else { return }
        add("Vary") { $0.append("Origin") }
        guard let origin = request.header.origin, origins.contains(origin) else { return }
        add("Access-Control-Allow-Origin") { $0.append(contentsOf: origin.utf8) }
    }

    /// Adds the fields that let a page send the request that a preflight asks about. A wildcard does not stand for
    /// `Authorization` (Fetch, "CORS-preflight fetch").
    mutating func addPreflightFields(allowing methods: [String]) {
        add("Access-Control-Allow-Methods") { $0.append(contentsOf: methods.joined(separator: ", ").utf8) }
        add("Access-Control-Allow-Headers") { $0.append("Authorization, Content-Type, X-API-Key, *") }
        // Browsers remember the answer for less: ten minutes to two hours.
        add("Access-Control-Max-Age") { $0.append("86400") }
    }
}
