// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The nodes of a cluster that receive commands, created on demand.
final class ClusterNodes: Sendable {
    private struct State {
        var nodes: [RedisAddress: RedisNode] = [:]
        /// The targets of redirections since the last refresh, which may be missing in the map.
        var redirectTargets: Set<RedisAddress> = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let make: @Sendable (RedisAddress) -> RedisNode

    enum Limits {
        /// All masters of a map, and some targets of slots being moved.
        static let maximumNodes = SlotMap.Limits.maximumMasters + 16
    }

    init(make: @escaping @Sendable (RedisAddress) -> RedisNode) { self.make = make }

    /// Returns the node at an address, and connects a new one; nil if the limit is reached.
    func node(at address: RedisAddress) -> RedisNode? {
        let (node, isNew) = state.withLock { state -> (RedisNode?, Bool) in
            if let node = state.nodes[address] { return (node, false) }
            guard !state.isClosed, state.nodes.count < Limits.maximumNodes else { return (nil, false) }
            let node = make(address)
            state.nodes[address] = node
            return (node, true)
        }
        if isNew { node?.start() }
        return node
    }

    /// Returns the target of a redirection, which is kept at the next refresh even if the map does not have it.
    func redirectTarget(at address: RedisAddress) -> RedisNode? {
        let node = node(at: address)
        if node != nil { state.withLock { _ = $0.redirectTargets.insert(address) } }
        return node
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func existing(at address: RedisAddress) -> RedisNode? {
        state.withLock { $0.nodes[address] }
    }

    /// Removes the other nodes, except redirection targets, and returns them for their shutdown.
    func removeAll(except addresses: Set<RedisAddress>) -> [RedisNode] {
        state.withLock { state in
            let kept = addresses.union(state.redirectTargets)
            state.redirectTargets = []
            let removed = state.nodes.filter { !kept.contains($0.key) }
            for address in removed.keys { state.nodes[address] = nil }
            return Array(removed.values)
        }
    }

    /// Creates no more nodes, and returns all for their shutdown.
    func close() -> [RedisNode] {
        state.withLock { state in
            defer { (state.nodes, state.isClosed) = ([:], true) }
            return Array(state.nodes.values)
        }
    }
}
