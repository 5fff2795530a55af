// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The state of the way to Apple, whether or not Apple is asked.
public struct UpstreamState: Sendable {
    /// The circuit breaker, limits and pause of each endpoint.
    public let guards: UpstreamGuards
    /// The end of each endpoint, as far as it is known.
    public let lifecycle: UpstreamLifecycle

    /// Creates the state of both endpoints.
    public init(guards: UpstreamGuards, lifecycle: UpstreamLifecycle) {
        self.guards = guards
        self.lifecycle = lifecycle
    }
}
