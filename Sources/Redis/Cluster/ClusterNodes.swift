// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The nodes of a cluster that commands are sent to, made when they are first needed.
final class ClusterNodes: Sendable {
    private struct State {
        var nodes: [RedisAddress: RedisNode] = [:]
        /// Who was pointed to since the last look, and may not be in the map yet.
        var redirectTargets: Set<RedisAddress> = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let make: @Sendable (RedisAddress) -> RedisNode

    /// What is kept at once.
    enum Limits {
        /// All masters of a map, and some that slots are on their way to.
        static let maximumNodes = SlotMap.Limits.maximumMasters + 16
    }

    init(make: @escaping @Sendable (RedisAddress) -> RedisNode) { self.make = make }

    /// The node at an address, which begins to connect if it is new; nil for one too many.
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

    /// The same, for a node that a master pointed to: it outlives the next look, also if the map does not name it.
    func redirectTarget(at address: RedisAddress) -> RedisNode? {
        let node = node(at: address)
        if node != nil { state.withLock { _ = $0.redirectTargets.insert(address) } }
        return node
    }

    /// Whether there will never be a node again.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The node at an address, if it is needed already.
    func existing(at address: RedisAddress) -> RedisNode? {
        state.withLock { $0.nodes[address] }
    }

    /// Forgets the others, but for guests, and returns them for their shutdown.
    func removeAll(except addresses: Set<RedisAddress>) -> [RedisNode] {
        state.withLock { state in
            let kept = addresses.union(state.redirectTargets)
            state.redirectTargets = []
            let removed = state.nodes.filter { !kept.contains($0.key) }
            for address in removed.keys { state.nodes[address] = nil }
            return Array(removed.values)
        }
    }

    /// Makes no more nodes, and returns all for their shutdown.
    func close() -> [RedisNode] {
        state.withLock { state in
            defer { (state.nodes, state.isClosed) = ([:], true) }
            return Array(state.nodes.values)
        }
    }
}
