// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The state of the upstream, even if requests to Apple are switched off.
public struct UpstreamState: Sendable {
    /// The circuit breaker, limits and pause of each endpoint.
    public let guards: UpstreamGuards
    /// The announced end of each endpoint.
    public let lifecycle: UpstreamLifecycle

    /// Creates the state of both endpoints.
    public init(guards: UpstreamGuards, lifecycle: UpstreamLifecycle) {
        self.guards = guards
        self.lifecycle = lifecycle
    }
}
