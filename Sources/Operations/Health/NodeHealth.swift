// SPDX-License-Identifier: Apache-2.0

package import HTTPServer
internal import HTTPTypes
internal import JSON
package import RedisStore

/// The health of a node, for readiness and the status page. The doctor gives the same advice about a Redis that rejects
/// the gateway.
package struct NodeHealth: Sendable {
    package let lifecycle: ServerLifecycle
    let store: StoreHealth

    package init(lifecycle: ServerLifecycle, store: StoreHealth) {
        self.lifecycle = lifecycle
        self.store = store
    }

    /// The reason why this node is not ready; nil if it is. The node stays ready while Redis is unavailable. It is not
    /// ready if Redis has rejected it from the start: a rollout with a wrong password must not proceed. If Redis
    /// rejects the node later, the node stays ready and reports the rejection in the metrics. Redis rejects the other
    /// nodes too, and some node must serve.
    var obstacle: Problem? {
        guard lifecycle.stage == .ready else { return .notReady }
        return switch store.condition {
        case .embedded, .connected, .degraded: nil
        case .connecting: .notReady
        case .misconfigured where store.hasServed: nil
        case .misconfigured: Problem(.serviceUnavailable, .storeMisconfigured, storeAdvice)
        }
    }

    var issues: [StatusIssue] { [stageIssue, storeIssue].compactMap { $0 } }

    /// Redis's own line is only logged: it may name users and keys.
    private var storeAdvice: String { store.configurationFault?.configurationAdvice ?? "See the log of the gateway." }

    private var stageIssue: StatusIssue? {
        switch lifecycle.stage {
        case .starting: StatusIssue(.info, "This node is starting.", "It serves requests as soon as it listens.")
        case .draining:
            StatusIssue(.warning, "This node is draining.", "It finishes the requests in flight and then stops.")
        case .ready: nil
        }
    }

    private var storeIssue: StatusIssue? {
        switch store.condition {
        case .embedded, .connected: nil
        case .connecting:
            StatusIssue(
                .info, "Connecting to Redis for the first time.", "This takes at most half a second by default.")
        case .degraded:
            StatusIssue(
                .warning, "Redis does not answer; this node decides alone.",
                "Answers stay correct. Check that Redis runs and is reachable from this node.", .redisUnavailable)
        case .misconfigured:
            StatusIssue(
                .critical, "Redis rejects this gateway, or TLS with it fails.", storeAdvice, .redisMisconfigured)
        }
    }

    // MARK: - Routes

    /// The routes of the admin plane: `/livez` answers while the event loops run, `/readyz` succeeds while the node is
    /// ready.
    package var routes: [Route] {
        [
            Route(probe: "/livez") { Reply { $0.member("status", "alive") } },
            Route(probe: "/readyz") {
                if let obstacle { throw obstacle }
                return Self.ready
            },
        ]
    }

    /// The routes of the data plane, for load balancers that check the port to which they send requests. Anyone may call
    /// them without a trace in metrics and log, so they do not say why the node is not ready, and each check takes a
    /// connection of its own.
    package var openRoutes: [Route] {
        ["/", "/readyz"].map { path in
            Route(probe: path, endsConnection: true) {
                if obstacle != nil { throw Problem.notReady }
                return Self.ready
            }
        }
    }

    private static let ready = Reply { $0.member("status", "ready") }.repeatable()
}
