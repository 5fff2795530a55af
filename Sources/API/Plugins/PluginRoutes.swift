// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPServer
internal import HTTPTypes

/// `POST /v1/validate` and `POST /v1/purchase/verify`: the protocols of plugins in apps, whose apps change only the URL.
///
/// Each route is offered while any client has its plugin.
package struct PluginRoutes: Sendable {
    private let verification: VerifyHandler
    private let access: CurrentAccess
    private let origins: WebOrigins

    /// - Parameter origins: the pages in WebViews that may read the answers.
    package init(verification: VerifyHandler, access: CurrentAccess, origins: WebOrigins) {
        (self.verification, self.access, self.origins) = (verification, access, origins)
    }

    package var routes: [Route] {
        [
            route(for: .cordova, at: ValidateEndpoint()) { Reply(validating: $0) },
            route(for: .openIAP, at: PurchaseVerifyEndpoint()) { Reply(verifyingPurchase: $0) },
        ]
    }

    private func route(
        for plugin: PluginProtocol, at endpoint: any VerifyEndpoint,
        problems: @escaping @Sendable (Problem) -> Reply
    ) -> Route {
        Route(
            .post, plugin.path, authentication: .pluginKey(plugin), origins: origins,
            problems: { problem, _ in problems(problem) }, isOffered: { access.now.plugins.contains(plugin) }
        ) { context, body in
            try verification.answer(context, of: context.client, access.now, body, at: endpoint)
        }
    }
}

extension Problem {
    /// The detail for a path of plugins, where the query may have the key too.
    var detailForApps: String {
        guard code == .unauthenticated else { return detail }
        return
            "A valid API key of a client with plugins is required: X-API-Key: KEY, Authorization: Bearer KEY, or apiKey=KEY "
            + "in the query."
    }
}
