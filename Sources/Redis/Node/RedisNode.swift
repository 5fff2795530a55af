// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
internal import Synchronization

/// One Redis server: a pipelined connection on every event loop, made again whenever it ends, and a subscriber
/// connection if names are tracked.
///
/// Nothing waits for a connection: while there is none, a command fails at once with `.notConnected`. The commands of
/// one `send` travel together on one connection, in order, with no other's between them. Commands that change how a
/// connection answers (`SUBSCRIBE`, `MONITOR`, `CLIENT REPLY`, `QUIT`) must not be sent.
public final class RedisNode: RedisCommands {
    typealias Caller = CheckedContinuation<[Result<RedisValue, RedisError>], Never>
    typealias Lane = ConnectionKeeper<CommandConnection<Caller>>

    /// What it was made with.
    public let configuration: RedisNodeConfiguration
    private let eventLoops: any EventLoopGroup
    /// One for each event loop.
    private let lanes: [Lane]
    private let subscriber: ConnectionKeeper<SubscriberConnection>?
    private let status: NodeStatus
    private let isShutDown = Atomic(false)

    /// A node that is not connected yet.
    /// - Parameters:
    ///   - eventLoops: each gets a connection. A caller on one of them uses its own, others one by rotation.
    ///   - observer: learns everything that happens here.
    public init(
        _ configuration: RedisNodeConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver
    ) {
        let status = NodeStatus(observer)
        self.configuration = configuration
        self.eventLoops = eventLoops
        self.status = status
        lanes = eventLoops.makeIterator().map { Lane(on: $0, .commands(configuration, status)) }
        subscriber =
            configuration.trackedPrefixes.isEmpty && configuration.channels.isEmpty
            ? nil : ConnectionKeeper(on: eventLoops.next(), .subscriber(configuration, status))
    }

    /// Begins to connect, and does so again for as long as it takes. Does nothing the second time.
    public func start() {
        for lane in lanes { lane.start() }
        subscriber?.start()
    }

    /// Ends all connections and fails what waits with `.shutDown`; returns when they are closed. For good.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        let ends = lanes.map { $0.shutdown() } + (subscriber.map { [$0.shutdown()] } ?? [])
        for end in ends { try? await end.get() }
    }

    /// How it is now.
    public var health: RedisHealth {
        let faults = lanes.map(\.fault) + [subscriber?.fault]
        for case .refused(let refusal) in faults where !refusal.isPassing { return .misconfigured(refusal) }
        if let refusal = status.forbiddenCommand { return .misconfigured(refusal) }
        let ready = lanes.count(where: \.isReady)
        return ready > 0 ? .connected(ready) : .disconnected(lanes.lazy.compactMap(\.fault).first)
    }

    /// Sends the commands together and gives each its own outcome, in order. Takes at most the command deadline.
    ///
    /// A command without words, which Redis would not answer, fails all of them with `.protocolViolation`.
    public func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        guard !commands.isEmpty else { return [] }
        let since = NIODeadline.now()
        guard let lane = readyLane else {
            return status.refuse(commands.count, isShutDown.load(ordering: .relaxed) ? .shutDown : .notConnected)
        }
        guard let bytes = ByteBuffer(commands: commands) else {
            return status.refuse(commands.count, .protocolViolation)
        }
        return await withCheckedContinuation { caller in
            lane.submit(Request(bytes: bytes, commands: commands.count, since: since, caller: caller))
        }
    }

    /// The caller's own if it is on an event loop of ours, else one by rotation; another one while that is not ready.
    private var readyLane: Lane? {
        let loop = eventLoops.any()
        if let lane = lanes.first(where: { $0.loop === loop }), lane.isReady { return lane }
        return lanes.first(where: \.isReady)
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
