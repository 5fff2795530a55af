// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
internal import Synchronization

/// One Redis server: a pipelined connection on every event loop, and a subscriber connection if keys are tracked. Each
/// is made again when it ends.
///
/// Commands do not wait for a connection: without one they fail at once with `.notConnected`. The commands of one
/// `send` use one connection, in order, without others between them. Commands that change how a connection replies
/// (`SUBSCRIBE`, `MONITOR`, `CLIENT REPLY`, `QUIT`) must not be sent.
public final class RedisNode: RedisCommands {
    typealias Caller = CheckedContinuation<RedisResults, Never>
    typealias Connection = ConnectionKeeper<CommandConnection<Caller>>

    /// The node's configuration.
    public let configuration: RedisNodeConfiguration
    private let eventLoops: any EventLoopGroup
    private let connections: [Connection]
    private let subscriber: ConnectionKeeper<SubscriberConnection>?
    private let status: NodeStatus
    private let isShutDown = Atomic(false)

    /// Creates a node that is not connected.
    /// - Parameters:
    ///   - eventLoops: each gets a connection. A caller on one of them uses its own; others rotate.
    ///   - observer: receives the node's events.
    public init(_ configuration: RedisNodeConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver) {
        let status = NodeStatus(observer)
        self.configuration = configuration
        self.eventLoops = eventLoops
        self.status = status
        connections = eventLoops.makeIterator().map { Connection(on: $0, .commands(configuration, status)) }
        subscriber =
            configuration.trackedPrefixes.isEmpty && configuration.channels.isEmpty
            ? nil : ConnectionKeeper(on: eventLoops.next(), .subscriber(configuration, status))
    }

    /// Connects, and retries until it succeeds. A second call does nothing.
    public func start() {
        for connection in connections { connection.start() }
        subscriber?.start()
    }

    /// Ends all connections permanently and fails waiting commands with `.shutDown`; returns when they are closed.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        let ends = connections.map { $0.shutdown() } + (subscriber.map { [$0.shutdown()] } ?? [])
        for end in ends { try? await end.get() }
    }

    /// The node's present state.
    public var health: RedisHealth {
        let faults = connections.map(\.fault) + [subscriber?.fault]
        for case .refused(let refusal) in faults where !refusal.isPassing { return .misconfigured(refusal) }
        if let refusal = status.forbiddenCommand { return .misconfigured(refusal) }
        let ready = connections.count(where: \.isReady)
        return ready > 0 ? .connected(ready) : .disconnected(connections.lazy.compactMap(\.fault).first)
    }

    /// Sends the commands together, and returns one result for each, in order, within the command deadline. An empty
    /// command, to which Redis would not reply, fails all of them with `.protocolViolation`.
    public func send(_ commands: [RedisCommand]) async -> RedisResults {
        guard !commands.isEmpty else { return [] }
        let since = NIODeadline.now()
        guard let connection = readyConnection else {
            return status.refuse(commands.count, isShutDown.load(ordering: .relaxed) ? .shutDown : .notConnected)
        }
        guard let bytes = ByteBuffer(commands: commands) else {
            return status.refuse(commands.count, .protocolViolation)
        }
        return await withCheckedContinuation { caller in
            connection.submit(Request(bytes: bytes, commands: commands.count, since: since, caller: caller))
        }
    }

    /// The connection on the caller's event loop, else one by rotation; another one while that is not ready.
    private var readyConnection: Connection? {
        let loop = eventLoops.any()
        if let connection = connections.first(where: { $0.loop === loop }), connection.isReady { return connection }
        return connections.first(where: \.isReady)
    }
}

extension ConnectionKeeper.Parts where Machine == CommandConnection<RedisNode.Caller> {
    fileprivate static func commands(_ configuration: RedisNodeConfiguration, _ status: NodeStatus) -> Self {
        Self(
            role: .commands, configuration: configuration,
            makeMachine: { CommandConnection(configuration, until: $0) },
            deliver: { delivery in
                status.count(delivery.results, since: delivery.since)
                delivery.waiter.resume(returning: delivery.results)
            },
            observe: status.observe)
    }
}

extension ConnectionKeeper.Parts where Machine == SubscriberConnection {
    fileprivate static func subscriber(_ configuration: RedisNodeConfiguration, _ status: NodeStatus) -> Self {
        Self(
            role: .subscriber, configuration: configuration,
            makeMachine: { SubscriberConnection(configuration, until: $0) },
            deliver: { _ in },
            observe: { event in
                status.observe(event)
                guard !configuration.trackedPrefixes.isEmpty else { return }
                switch event {
                case .connected: status.observe(.flushed(.subscribed))
                case .disconnected: status.observe(.flushed(.subscriberLost))
                default: break
                }
            })
    }
}
