// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPServer
internal import HTTPTypes
internal import Resilience

extension Route {
    /// `GET /.well-known/jwks.json`: the public keys of signed answers (RFC 7517 §5), for anyone.
    package static func keySet(_ access: CurrentAccess) -> Route {
        Route(
            .get, RouteLabel.keySet.rawValue, authentication: .body, bodyLimit: .bytes(0),
            isOffered: { access.now.rules.answerKeys != nil }
        ) { _, _ in
            guard let keys = access.now.rules.answerKeys else { throw Problem.notFound }
            var reply = Reply(json: keys.keySet, fields: .ofKeySet)
            // Strangers keep no connection.
            reply.isLast = true
            return .done(reply)
        }
    }
}

extension HTTPFields {
    /// A new key is published longer than this before it signs: docs/signed-answers.md.
    fileprivate static let ofKeySet: HTTPFields = [
        .contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300",
    ]
}
