// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Redis
package import RedisStore

/// The health of a node, evaluated in one place for readiness and the status page. The doctor and it give the same advice
/// about a Redis that refuses the gateway.
package struct NodeHealth: Sendable {
    /// The stage of the process.
    package let lifecycle: ServerLifecycle
    /// The state of the shared store.
    let store: StoreHealth

    /// Creates the health of a node.
    package init(lifecycle: ServerLifecycle, store: StoreHealth) {
        self.lifecycle = lifecycle
        self.store = store
    }

    /// The reason why requests are not welcome; nil while they are. They are while Redis is away, for which there are
    /// rules. They are not where it has refused this gateway from the beginning: a rollout with a wrong password must not
    /// go on. A gateway that it refuses later on serves all the same, and says so in its metrics: Redis refuses the other
    /// nodes as well, and one of them has to serve.
    var obstacle: Problem? {
        guard lifecycle.stage == .ready else { return .notReady }
        return switch store.condition {
        case .embedded, .connected, .degraded: nil
        case .connecting: .notReady
        case .misconfigured where store.hasServed: nil
        case .misconfigured: Problem(.serviceUnavailable, .storeMisconfigured, storeAdvice)
        }
    }

    /// What an operator should know of the process and its store.
    var issues: [StatusIssue] { stageIssues + storeIssues }

    /// Redis's own line is left to the log: it may name users and keys.
    private var storeAdvice: String { store.configurationFault?.advice ?? "See the log of the gateway." }

    private var stageIssues: [StatusIssue] {
        switch lifecycle.stage {
        case .starting:
            [StatusIssue(.info, "This node is starting.", "It takes requests as soon as it listens.")]
        case .draining:
            [StatusIssue(.warning, "This node is draining.", "It finishes what is in flight, then it ends.")]
        case .ready: []
        }
    }

    private var storeIssues: [StatusIssue] {
        switch store.condition {
        case .embedded, .connected: []
        case .connecting:
            [StatusIssue(.info, "The first connection to Redis is being made.", "It gets half a second as a rule.")]
        case .degraded:
            [
                StatusIssue(
                    .warning, "Redis does not answer; this node decides alone meanwhile.",
                    "Answers stay right. See whether Redis runs and can be reached from here.", .redisAway)
            ]
        case .misconfigured:
            [StatusIssue(.critical, "Redis refuses this gateway.", storeAdvice, .redisMisconfigured)]
        }
    }
}

// MARK: - Routes

extension NodeHealth {
    /// `/livez` answers as long as the event loops run; `/readyz` only while requests are welcome.
    package var routes: [Route] {
        [
            Route(.get, "/livez", authentication: .none) { _ in Reply(json: Self.status("alive")) },
            Route(.get, "/readyz", authentication: .none) { _ in
                if let obstacle { throw obstacle }
                return Reply(json: Self.status("ready"))
            },
        ]
    }

    private static func status(_ word: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { $0.member("status", word) }
        return json.bytes
    }
}
