// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Receipts
internal import Resilience
internal import Telemetry

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
            let interfaces = UpstreamAPI.allCases.filter { $0 == .verifyReceipt || hasServerAPIKey() }
            let (store, now) = (store(), clock())
            let json = JSONWriter.object(reservingCapacity: 2048) { json in
                json.member("version", Version.current)
                json.member("status", "\(lifecycle.stage)")
                json.object("store") { $0.members(store) }
                for api in interfaces {
                    // `verifyReceipt` has its name from the time when it was the only interface.
                    json.object(named: api == .verifyReceipt ? "upstreams" : api.rawValue) { json in
                        for endpoint in api.endpoints {
                            json.key(named: endpoint.environment.rawValue)
                            json.upstream(
                                isEnabled: isAppleEnabled, upstreams.guards.health(of: endpoint),
                                upstreams.lifecycle.state(of: endpoint), at: now)
                        }
                    }
                }
            }
            var reply = Reply(json: json, fields: .ofUnstoredJSON)
            reply.fields.announce(upstreams.lifecycle.state(of: UpstreamEndpoint(.verifyReceipt, .production)))
            return reply
        }
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ store: StoreStatus) {
        member("state", store.state)
        member("refusal", store.refusal)
        member("live_nodes", store.liveNodes)
    }

    mutating func upstream(
        isEnabled: Bool, _ health: UpstreamHealth, _ state: UpstreamLifecycle.State, at now: Timestamp
    ) {
        object { json in
            json.member("enabled", isEnabled)
            json.object("breaker") { json in
                json.member("state", health.breaker.rawValue)
                json.member("mode", health.breakerMode.rawValue)
                json.member("opens_for_seconds", health.breakerOpensFor?.secondsRoundedUp)
            }
            json.member("paused_for_seconds", health.pausedFor?.secondsRoundedUp)
            json.member("requests_in_flight", health.inFlight)
            json.member("concurrency_limit", health.concurrencyLimit)
            json.member("requests_waiting", health.waiting)
            json.member("budget_remaining", health.budgetRemaining)
            json.lifecycle(state, at: now)
        }
    }

    private mutating func lifecycle(_ state: UpstreamLifecycle.State, at now: Timestamp) {
        let stage = state.dates.stage(at: now)
        object("lifecycle") { json in
            json.member("stage", stage.name)
            json.key("sunset_ramp_ratio")
            json.number(stage.rampShare)
            json.members(state.dates)
            if state.announced != LifecycleDates() {
                json.object("announced") { $0.members(state.announced) }
            }
            json.array("links") { json in
                for link in state.links { json.link(link) }
            }
        }
    }

    private mutating func members(_ dates: LifecycleDates) {
        member("deprecation", dates.deprecation)
        member("sunset", dates.sunset)
    }
}
