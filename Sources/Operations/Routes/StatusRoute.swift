// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Receipts
package import RedisStore
internal import Settings

/// `GET /v1/status`: the state of this node and of Apple's endpoints. Names no app, client or receipt.
package struct StatusRoute: Sendable {
    let lifecycle: ServerLifecycle
    let upstreams: UpstreamState
    /// True if the gateway sends requests to Apple.
    let asksApple: Bool
    let store: StoreHealth
    let clock: @Sendable () -> Timestamp

    package init(
        lifecycle: ServerLifecycle, upstreams: UpstreamState, asksApple: Bool, store: StoreHealth,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.lifecycle = lifecycle
        self.upstreams = upstreams
        self.asksApple = asksApple
        self.store = store
        self.clock = clock
    }

    /// The route. It answers in every stage of the process.
    package var route: Route {
        Route(.get, "/v1/status") { _ in reply }
    }

    private var reply: Reply {
        var reply = Reply(json: status(at: clock()))
        reply.fields[.cacheControl] = "no-store"
        reply.fields.announce(upstreams.lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
        return reply
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
                    let endpoint = UpstreamEndpoint(.verifyReceipt, environment)
                    json.key(environment.rawValue)
                    json.upstream(
                        isEnabled: asksApple, upstreams.guards.health(of: endpoint),
                        upstreams.lifecycle.state(of: endpoint), at: now)
                }
            }
        }
        return json.bytes
    }
}
