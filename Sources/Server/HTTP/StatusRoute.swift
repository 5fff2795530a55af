// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Receipts

/// `GET /v1/status`: how this node and its way to Apple stand. Names no app, client or receipt.
struct StatusRoute: Sendable {
    /// Tells who asks.
    let access: CurrentAccess
    /// Where the process is in its life.
    let lifecycle: ServerLifecycle
    /// How Apple's endpoints stand.
    let upstreams: UpstreamKnowledge
    /// Whether Apple is asked at all.
    let asksApple: Bool
    /// How it stands with the shared store.
    let store: StoreHealth
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp

    /// Answers who has a key, whatever the stage.
    func respond(to request: Request, context: GatewayRequestContext) throws -> Response {
        let now = clock()
        let client = try access.now.authenticator.client(for: request.headers, at: now)
        context.outcome.record { $0.client = client.name }
        var response = Response(json: status(at: now))
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private func status(at now: Timestamp) -> [UInt8] {
        var json = JSONWriter(reservingCapacity: 1024)
        json.object { json in
            json.member("version", Version.current)
            json.member("status", "\(lifecycle.stage)")
            json.key("store")
            json.store(store)
            json.key("upstreams")
            json.object { json in
                for environment in UpstreamEnvironment.allCases {
                    json.key(environment.rawValue)
                    json.upstream(
                        isEnabled: asksApple, upstreams.guards.health(of: environment),
                        upstreams.lifecycle.knowledge(of: environment), at: now)
                }
            }
        }
        return json.bytes
    }
}
