// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Receipts
package import RedisStore
internal import Settings

/// `GET /v1/status`: how this node and its way to Apple stand. Names no app, client or receipt.
package struct StatusRoute: Sendable {
    /// Where the process is in its life.
    let lifecycle: ServerLifecycle
    /// How Apple's endpoints stand.
    let upstreams: UpstreamState
    /// Whether Apple is asked at all.
    let asksApple: Bool
    /// How it stands with the shared store.
    let store: StoreHealth
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp

    /// Creates the route of one node.
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
