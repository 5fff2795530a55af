// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// A cluster: each command is sent to the master of its key's slot, and follows redirections.
final class ClusterClient: RedisClient {
    enum Limits {
        /// The sends of one command. A slot being moved needs two or three, a node that is still connecting some more.
        static let maximumRounds = 12
        static let pause = Duration.milliseconds(4)
        static let maximumSeedsQueried = 4
    }

    private let configuration: RedisClientConfiguration
    private let observer: any RedisObserver
    private let seeds: [RedisNode]
    private let nodes: ClusterNodes
    private let refresher: TopologyRefresher
    private let eventLoop: any EventLoop
    private let map = Mutex(SlotMap())

    init(_ configuration: RedisClientConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver) {
        let eventLoop = eventLoops.next(), refresher = TopologyRefresher(Self.rule, on: eventLoop)
        (self.configuration, self.observer) = (configuration, observer)
        (self.refresher, self.eventLoop) = (refresher, eventLoop)
        nodes = ClusterNodes { address in
            RedisNode(
                configuration.master(at: address), eventLoops: eventLoops, refreshing: refresher, observer: observer)
        }
        seeds = configuration.url.addresses.map {
            RedisNode(configuration.seed(at: $0), eventLoops: eventLoop, refreshing: refresher, observer: nil)
        }
    }

    /// A regular refresh finds masters that were added.
    private static let rule = TopologyRefreshRule(
        pace: .milliseconds(100), interval: .seconds(15), retryInterval: .milliseconds(500))

    func start() {
        for seed in seeds { seed.start() }
        refresher.start { [weak self] in await self?.refresh() ?? true }
    }

    func shutdown() async {
        refresher.stop()
        for node in nodes.close() + seeds { await node.shutdown() }
    }

    var health: RedisHealth {
        let known = masters.values
        return .combined(known.isEmpty ? seeds.map(\.health).map(\.withoutConnections) : Array(known))
    }

    var masters: [RedisAddress: RedisHealth] {
        map.withLock { $0.masters }.reduce(into: [:]) { masters, address in
            masters[address] = nodes.existing(at: address)?.health ?? .disconnected(nil)
        }
    }

    var masterNodes: [any RedisCommands] {
        let map = map.withLock { $0 }, known = map.masters.compactMap { nodes.existing(at: $0) }
        return map.isComplete && known.count == map.masters.count ? known : []
    }

    // MARK: - Sending

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        let end = NIODeadline.now() + TimeAmount(configuration.node.commandDeadline)
        var pipeline = ClusterPipeline(commands)
        for round in 1...Limits.maximumRounds {
            let fallbackNode = commands.contains { $0.key == nil } ? connectedMaster : nil
            let batches = map.withLock { pipeline.takeBatches(by: $0, fallbackNode: fallbackNode) }
            for (batch, replies) in await send(batches, until: round > 1 ? end : nil) {
                learn(from: pipeline.take(replies, to: batch, isRedirected: round > 1))
            }
            if pipeline.isDone || NIODeadline.now() >= end { break }
            if pipeline.wantsPause { try? await Task.sleep(for: Limits.pause) }
        }
        return pipeline.results
    }

    private var connectedMaster: RedisAddress? {
        map.withLock { $0.masters }.filter { nodes.existing(at: $0)?.health.isConnected == true }.randomElement()
    }

    /// - Parameter end: a deadline earlier than the node's own, if any.
    private func send(
        _ batches: [ClusterPipeline.Batch], until end: NIODeadline?
    ) async -> [(ClusterPipeline.Batch, RedisResults)] {
        // The usual case: all keys are on one node.
        if batches.count == 1 { return [(batches[0], await send(batches[0], until: end))] }
        return await withTaskGroup { group in
            for batch in batches { group.addTask { (batch, await self.send(batch, until: end)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func send(_ batch: ClusterPipeline.Batch, until end: NIODeadline?) async -> RedisResults {
        guard let node = batch.isForRedirectTarget ? nodes.redirectTarget(at: batch.node) : nodes.node(at: batch.node)
        else {
            return batch.commands.map { _ in .failure(nodes.isClosed ? .shutDown : .notConnected) }
        }
        guard let end else { return await node.send(batch.commands) }
        return await send(batch.commands, to: node, until: end)
    }

    /// Returns the replies, or timeouts at `end`; commands that timed out may still be executed.
    private func send(_ commands: [RedisCommand], to node: RedisNode, until end: NIODeadline) async -> RedisResults {
        let timeouts: RedisResults = commands.map { _ in .failure(.timeout) }
        // The first result counts.
        let replies = eventLoop.makePromise(of: RedisResults.self)
        let timer = eventLoop.scheduleTask(deadline: end) { replies.succeed(timeouts) }
        Task {
            replies.succeed(await node.send(commands))
            timer.cancel()
        }
        return (try? await replies.futureResult.get()) ?? timeouts
    }

    private func learn(from hints: ClusterPipeline.TopologyHints) {
        for redirection in hints.redirections {
            observer.observe(.redirected(redirection.kind))
            if case .moved(let slot, let master) = redirection { map.withLock { $0.move(slot, to: master) } }
        }
        if hints.isMapInDoubt { refresher.request() }
    }

    // MARK: - Refreshing the map

    /// Requests the map from some nodes, masters first, until a node returns a usable map.
    private func refresh() async -> Bool {
        let masters = map.withLock { $0.masters }.shuffled().compactMap { nodes.existing(at: $0) }
        var queried = 0
        for seed in masters + seeds.shuffled() where queried < Limits.maximumSeedsQueried && seed.health.isConnected {
            queried += 1
            guard let found = await query(seed) else { continue }
            await adopt(found)
            return found.isComplete && self.masters.values.allSatisfy(\.isConnected)
        }
        observer.observe(.mastersUnknown)
        return false
    }

    /// Requests the map from a node. The map of a node that was removed from its cluster has no master.
    private func query(_ seed: RedisNode) async -> SlotMap? {
        guard let reply = try? await seed.send(RedisCommand("CLUSTER", "SLOTS")),
            let map = try? SlotMap(reply, from: seed.configuration.address), !map.masters.isEmpty
        else { return nil }
        return map
    }

    private func adopt(_ found: SlotMap) async {
        let old = map.withLock { map in
            defer { map = found }
            return Set(map.masters)
        }
        let masters = Set(found.masters)
        // All masters, also masters without commands so far: each announces only changes of its own keys.
        for master in masters { _ = nodes.node(at: master) }
        if old != masters { observer.observe(.mastersChanged(masters)) }
        for node in nodes.removeAll(except: masters) { await node.shutdown() }
    }
}

extension Redirection {
    fileprivate var kind: RedisRefusal.Kind {
        switch self {
        case .moved: .moved
        case .ask: .ask
        case .again: .tryAgain
        case .unavailable: .clusterDown
        }
    }
}

extension RedisHealth {
    fileprivate var isConnected: Bool {
        if case .disconnected = self { false } else { true }
    }

    /// The health without connections that are only for the map and take no commands.
    fileprivate var withoutConnections: RedisHealth {
        if case .connected = self { .disconnected(nil) } else { self }
    }
}

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

    /// Returns the node at an address, and connects a new node; nil if the limit is reached.
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
