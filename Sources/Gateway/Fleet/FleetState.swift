// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What one node learns of an endpoint, and all should know.
public enum FleetUpdate: Hashable, Sendable {
    /// Apple asks to be left alone for so long.
    case pause(Duration)
    /// Apple announced the endpoint's end.
    case lifecycle(LifecycleDates, links: [LifecycleLink])
}

/// Tells the other nodes what this one has learnt.
public protocol FleetState: Sendable {
    /// Tells them. Returns at once: nobody's request waits for it, and what gets lost is learnt again.
    func tell(_ note: FleetUpdate, of endpoint: UpstreamEndpoint)
}

/// The notes of a fleet of one node: there is nobody to tell.
public struct EmbeddedFleetState: FleetState {
    /// The notes of one node.
    public init() {}

    /// Tells nobody.
    public func tell(_ note: FleetUpdate, of endpoint: UpstreamEndpoint) {}
}
