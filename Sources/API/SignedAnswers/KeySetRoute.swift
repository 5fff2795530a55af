// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPServer
internal import HTTPTypes
internal import Resilience

extension Route {
    /// `GET /.well-known/jwks.json`: the public keys of signed answers (RFC 7517 §5), for anyone. Without keys it is 404 for
    /// anyone too: an API key would not help.
    package static func keySet(_ access: CurrentAccess) -> Route {
        // Strangers keep no connection.
        let ending: @Sendable (Reply) -> Reply = { reply in
            var reply = reply
            reply.isLast = true
            return reply
        }
        return Route(
            .get, RouteLabel.keySet.rawValue, authentication: .body, bodyLimit: .bytes(0),
            problems: { problem, requestID in ending(Reply(problem, requestID: requestID)) }
        ) { _, _ in
            guard let keys = access.now.rules.answerKeys else { throw Problem.notFound }
            return .done(ending(Reply(json: keys.keySet, fields: .ofKeySet)))
        }
    }
}

extension HTTPFields {
    /// A new key is published longer than this before it signs: docs/signed-answers.md.
    fileprivate static let ofKeySet: HTTPFields = [
        .contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300",
    ]
}
