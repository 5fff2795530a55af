// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A fact about an endpoint that one node learns and all nodes need.
public enum FleetUpdate: Hashable, Sendable {
    /// Apple asked for a pause of this length.
    case pause(Duration)
    /// Apple announced the endpoint's end.
    case lifecycle(LifecycleDates, links: [LifecycleLink])
}

/// Publishes such facts to the other nodes.
public protocol FleetState: Sendable {
    /// Publishes an update. Returns at once: no request waits for it, and a lost update is learnt again.
    func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint)
}

/// The state of a fleet of one node: nothing is published.
public struct EmbeddedFleetState: FleetState {
    /// Creates the state of one node.
    public init() {}

    /// Does nothing.
    public func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint) {}
}
