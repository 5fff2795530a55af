// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import JSON
internal import Receipts
internal import Redis
internal import RedisStore
internal import Resilience

// The JSON of `GET /v1/status`.
extension JSONWriter {
    /// Writes the state of an endpoint at `now`.
    mutating func upstream(
        isEnabled: Bool, _ health: UpstreamHealth, _ state: UpstreamLifecycle.State, at now: Timestamp
    ) {
        object { json in
            json.key("enabled")
            json.bool(isEnabled)
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

    /// Writes the state of the shared store.
    mutating func store(_ store: StoreHealth) {
        object { json in
            json.member("state", store.condition.rawValue)
            json.member("refusal", store.configurationFault?.kind.rawValue)
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
            json.key("share_moved")
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

    private mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(value)
    }
}
