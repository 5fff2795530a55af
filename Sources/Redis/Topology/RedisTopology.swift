// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The topology of nodes: one alone, a master with sentinels, or the masters of a cluster.
protocol RedisTopology: RedisCommands {
    func start()
    func shutdown() async
    var health: RedisHealth { get }
    var masters: [RedisAddress: RedisHealth] { get }
}

extension RedisNode: RedisTopology {
    var masters: [RedisAddress: RedisHealth] { [configuration.address: health] }
}

extension RedisHealth {
    /// Combines the states of several nodes: faults for the operator first, then connections.
    static func together(_ all: some Sequence<RedisHealth>) -> RedisHealth {
        all.reduce(.disconnected(nil)) { sum, next in
            switch (sum, next) {
            case (.misconfigured, _): sum
            case (_, .misconfigured): next
            case (.connected(let some), .connected(let more)): .connected(some + more)
            case (.connected, .disconnected): sum
            case (.disconnected, .connected): next
            case (.disconnected(let fault), .disconnected(let other)): .disconnected(fault ?? other)
            }
        }
    }
}

extension RedisError {
    /// True if the node may be gone, frozen, replaced or no longer a master.
    var castsDoubtOnTopology: Bool {
        switch self {
        case .notConnected, .connectionLost, .timeout: true
        case .pipelineFull, .protocolViolation, .shutDown: false
        case .refused(let refusal):
            switch refusal.kind {
            case .moved, .clusterDown, .readOnly, .loading, .masterDown: true
            default: false
            }
        }
    }
}

/// A change of the topology.
public enum RedisTopologyEvent: Hashable, Sendable {
    /// A cluster's node redirected a command to another.
    case redirected(RedisRefusal.Kind)
    /// The masters have changed to these.
    case mastersChanged(Set<RedisAddress>)
    /// None of the queried nodes knows the masters.
    case mastersUnknown
}
