// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// The master that sentinels name. A new node receives commands once its own `ROLE` is master; until then commands fail
/// as at the old node.
final class SentinelClient: RedisClient {
    private struct State {
        var master: RedisNode?
        /// The node that a sentinel named, before its own `ROLE` is master.
        var candidate: RedisNode?
        var turn = 0
        /// The error if the last sentinel does not know the master's name.
        var refusal: RedisRefusal?
        var isShutDown = false

        var known: [RedisNode] { [master, candidate].compactMap(\.self) }
    }

    private let name: String
    private let configuration: RedisClientConfiguration
    private let eventLoops: any EventLoopGroup
    private let observer: any RedisObserver
    private let sentinels: [RedisNode]
    private let refresher: TopologyRefresher
    private let state = Mutex(State())

    /// - Parameter name: the master's name in Sentinel.
    init(
        _ name: String, _ configuration: RedisClientConfiguration, eventLoops: any EventLoopGroup,
        observer: any RedisObserver
    ) {
        let eventLoop = eventLoops.next(), refresher = TopologyRefresher(Self.rule, on: eventLoop)
        (self.name, self.configuration, self.eventLoops) = (name, configuration, eventLoops)
        (self.observer, self.refresher) = (observer, refresher)
        sentinels = configuration.url.addresses.map {
            RedisNode(configuration.sentinel(at: $0), eventLoops: eventLoop, refreshing: refresher, observer: nil)
        }
    }

    /// One request per second to one sentinel, and ten while there is no master.
    private static let rule = TopologyRefreshRule(
        pace: .milliseconds(50), interval: .seconds(1), retryInterval: .milliseconds(100))

    func start() {
        for sentinel in sentinels { sentinel.start() }
        refresher.start { [weak self] in await self?.refresh() ?? true }
    }

    func shutdown() async {
        refresher.stop()
        let nodes = state.withLock { state in
            state.isShutDown = true
            return state.known
        }
        for node in nodes + sentinels { await node.shutdown() }
    }

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        let (master, isShutDown) = state.withLock { ($0.master, $0.isShutDown) }
        guard let master else {
            return commands.map { _ in .failure(isShutDown ? .shutDown : .notConnected) }
        }
        let results = await master.send(commands)
        let hasDoubt = results.contains {
            if case .failure(let error) = $0 { error.castsDoubtOnTopology } else { false }
        }
        if hasDoubt { refresher.request() }
        return results
    }

    var health: RedisHealth {
        let (master, candidate, refusal) = state.withLock { ($0.master, $0.candidate, $0.refusal) }
        if let master { return master.health }
        if let refusal { return .misconfigured(.refused(refusal)) }
        let faults = sentinels.map(\.health).filter { if case .misconfigured = $0 { true } else { false } }
        return .combined([candidate].compactMap { $0?.health } + faults)
    }

    var masters: [RedisAddress: RedisHealth] {
        state.withLock { $0.master }?.masters ?? [:]
    }

    var masterNodes: [any RedisCommands] { state.withLock { $0.master }.map { [$0] } ?? [] }

    // MARK: - Finding the master

    /// Queries the sentinels in order, and the role of the node that the first reply names.
    private func refresh() async -> Bool {
        let turn = state.withLock { $0.turn }
        for offset in sentinels.indices {
            let sentinel = (turn + offset) % sentinels.count
            guard let address = await query(sentinels[sentinel]) else { continue }
            let isInOrder = await settle(on: address)
            // A sentinel that names a node without the master role may be outdated.
            state.withLock { $0.turn = isInOrder ? sentinel : sentinel + 1 }
            return isInOrder
        }
        observer.observe(.mastersUnknown)
        return false
    }

    private func query(_ sentinel: RedisNode) async -> RedisAddress? {
        let question = RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", RedisWord(name))
        guard let reply = try? await sentinel.send(question) else { return nil }
        let address = Self.address(in: reply)
        state.withLock { $0.refusal = address == nil ? RedisRefusal(line: "ERR unknown master \(name)") : nil }
        return address
    }

    /// Parses `[host, port]`, both strings; nil for an unknown name.
    static func address(in reply: RedisValue) -> RedisAddress? {
        guard case .array(let parts) = reply, parts.count == 2,
            let host = parts[0].text, let port = parts[1].text
        else { return nil }
        return .checked(host: host, port: Int(port))
    }

    /// Makes the node at `address` receive commands if it is a master, else returns false.
    private func settle(on address: RedisAddress) async -> Bool {
        guard let node = await node(at: address), await isMaster(node) else { return false }
        let (old, isNew) = state.withLock { state -> ([RedisNode], Bool) in
            guard !state.isShutDown else { return ([], false) }
            defer { (state.master, state.candidate) = (node, nil) }
            return (state.known.filter { $0 !== node }, state.master !== node)
        }
        if isNew { observer.observe(.mastersChanged([address])) }
        for node in old { await node.shutdown() }
        return true
    }

    /// Returns the master or the candidate if it is at `address`, else a new candidate.
    private func node(at address: RedisAddress) async -> RedisNode? {
        let (node, old) = state.withLock { state -> (RedisNode?, RedisNode?) in
            guard !state.isShutDown else { return (nil, nil) }
            if let node = state.known.first(where: { $0.configuration.address == address }) { return (node, nil) }
            let node = RedisNode(
                configuration.master(at: address), eventLoops: eventLoops, refreshing: refresher, observer: observer)
            defer { state.candidate = node }
            return (node, state.candidate)
        }
        node?.start()
        await old?.shutdown()
        return node
    }

    private func isMaster(_ node: RedisNode) async -> Bool {
        guard case .array(let role) = try? await node.send(RedisCommand("ROLE")) else { return false }
        return role.first == .string(Array("master".utf8))
    }
}
