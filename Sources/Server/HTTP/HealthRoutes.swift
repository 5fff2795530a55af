// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import JSON

/// What orchestrators ask on the admin plane.
struct HealthRoutes: Sendable {
    /// Where the process is in its life.
    let lifecycle: ServerLifecycle
    /// How it stands with the shared store.
    let store: StoreHealth

    /// `/livez` answers as long as the event loops run; `/readyz` only while requests are welcome.
    var routes: [Route] {
        [
            Route(.get, "/livez", authentication: .none) { _ in Reply(json: Self.status("alive")) },
            Route(.get, "/readyz", authentication: .none) { _ in
                if let obstacle { throw obstacle }
                return Reply(json: Self.status("ready"))
            },
        ]
    }

    /// Why requests are not welcome; nil while they are. They are while Redis is away, for which there are rules. They are
    /// not where it has refused this gateway from the beginning: a rollout with a wrong password must not go on. A gateway
    /// that it refuses later on serves all the same, and says so in its metrics, for its likes are refused as well, and
    /// somebody has to serve.
    var obstacle: Problem? {
        guard lifecycle.stage == .ready else { return .notReady }
        return switch store.condition {
        case .embedded, .connected, .degraded: nil
        case .connecting: .notReady
        case .misconfigured where store.hasServed: nil
        case .misconfigured: .storeMisconfigured(store.configurationFault)
        }
    }

    private static func status(_ word: String) -> [UInt8] {
        var json = JSONWriter()
        json.object { $0.member("status", word) }
        return json.bytes
    }
}
