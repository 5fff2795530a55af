// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Receipts
internal import Resilience
internal import Telemetry

/// The state of the store that the nodes share.
package struct StoreStatus: Sendable {
    let state: String
    /// The reason why Redis rejects the gateway; nil if it does not.
    let refusal: String?
    let liveNodes: Int

    package init(state: String, refusal: String?, liveNodes: Int) {
        (self.state, self.refusal, self.liveNodes) = (state, refusal, liveNodes)
    }
}

extension Route {
    /// `GET /v1/status`: the state of this node and of Apple's endpoints, in every stage of the process. Names no app,
    /// client or receipt.
    package static func status(
        _ lifecycle: ServerLifecycle, store: @escaping @Sendable () -> StoreStatus, _ upstreams: UpstreamState,
        isAppleEnabled: Bool, hasServerAPIKey: @escaping @Sendable () -> Bool,
        clock: @escaping @Sendable () -> Timestamp
    ) -> Route {
        Route(.get, "/v1/status") { _ in
            var json = JSONWriter(reservingCapacity: 2048)
            let interfaces = UpstreamAPI.allCases.filter { $0 == .verifyReceipt || hasServerAPIKey() }
            json.status(lifecycle, store(), upstreams, interfaces, isAppleEnabled: isAppleEnabled, at: clock())
            var reply = Reply(json: json.bytes)
            reply.fields[.cacheControl] = "no-store"
            reply.fields.announce(upstreams.lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
            return reply
        }
    }
}

extension JSONWriter {
    fileprivate mutating func status(
        _ lifecycle: ServerLifecycle, _ store: StoreStatus, _ upstreams: UpstreamState, _ interfaces: [UpstreamAPI],
        isAppleEnabled: Bool, at now: Timestamp
    ) {
        object { json in
            json.member("version", Version.current)
            json.member("status", "\(lifecycle.stage)")
            json.key("store")
            json.store(store)
            for api in interfaces {
                json.key(named: api.memberName)
                json.object { json in
                    for endpoint in api.endpoints {
                        json.key(named: endpoint.environment.rawValue)
                        json.upstream(
                            isEnabled: isAppleEnabled, upstreams.guards.health(of: endpoint),
                            upstreams.lifecycle.state(of: endpoint), at: now)
                    }
                }
            }
        }
    }

    mutating func upstream(
        isEnabled: Bool, _ health: UpstreamHealth, _ state: UpstreamLifecycle.State, at now: Timestamp
    ) {
        object { json in
            json.member("enabled", isEnabled)
            json.key("breaker")
            json.breaker(health)
            json.member("paused_for_seconds", health.pausedFor?.secondsRoundedUp)
            json.member("requests_in_flight", health.inFlight)
            json.member("concurrency_limit", health.concurrencyLimit)
            json.member("requests_waiting", health.waiting)
            json.member("budget_remaining", health.budgetRemaining)
            json.key("lifecycle")
            json.lifecycle(state, at: now)
        }
    }

    private mutating func store(_ store: StoreStatus) {
        object { json in
            json.member("state", store.state)
            json.member("refusal", store.refusal)
            json.member("live_nodes", store.liveNodes)
        }
    }

    private mutating func breaker(_ health: UpstreamHealth) {
        object { json in
            json.member("state", health.breaker.rawValue)
            json.member("mode", health.breakerMode.rawValue)
            json.member("opens_for_seconds", health.breakerOpensFor?.secondsRoundedUp)
        }
    }

    private mutating func lifecycle(_ state: UpstreamLifecycle.State, at now: Timestamp) {
        let stage = state.dates.stage(at: now)
        object { json in
            json.member("stage", stage.name)
            json.key("sunset_ramp_ratio")
            json.number(stage.rampShare)
            json.members(state.dates)
            if state.announced != LifecycleDates() {
                json.key("announced")
                json.object { $0.members(state.announced) }
            }
            json.key("links")
            json.array { json in
                for link in state.links { json.link(link) }
            }
        }
    }

    private mutating func members(_ dates: LifecycleDates) {
        member("deprecation", dates.deprecation)
        member("sunset", dates.sunset)
    }
}

extension UpstreamAPI {
    /// The name in the status. The name of `verifyReceipt` is from the time when it was the only interface.
    fileprivate var memberName: String {
        switch self {
        case .verifyReceipt: "upstreams"
        case .serverAPI: rawValue
        }
    }
}
