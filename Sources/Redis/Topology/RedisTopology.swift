// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How nodes belong together: one alone, a master that sentinels watch, or the masters of a cluster.
protocol RedisTopology: RedisCommands {
    /// Begins to connect, and does so for as long as it takes.
    func start()
    /// Ends all connections; returns when they are closed. For good.
    func shutdown() async
    /// How it is now, all nodes together.
    var health: RedisHealth { get }
    /// The masters that are known now, each with how it is.
    var masters: [RedisAddress: RedisHealth] { get }
}

extension RedisNode: RedisTopology {
    var masters: [RedisAddress: RedisHealth] { [configuration.address: health] }
}

extension RedisHealth {
    /// Of several nodes: what only an operator can mend comes first, then what works.
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
    /// Whether the node may not be what it was: gone, frozen, replaced or no master any more.
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

/// What happens to the way nodes belong together.
public enum RedisTopologyEvent: Hashable, Sendable {
    /// A node of a cluster sent a command on to another.
    case redirected(RedisRefusal.Kind)
    /// These are the masters from now on.
    case mastersChanged(Set<RedisAddress>)
    /// Nobody who was asked knows where the masters are.
    case mastersUnknown
}
