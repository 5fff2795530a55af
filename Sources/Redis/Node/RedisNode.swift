// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import Synchronization

/// One Redis server: a pipelined connection on every event loop, and a subscriber connection if keys are tracked. Each
/// is made again when it ends.
///
/// Commands do not wait for a connection: without a connection they fail at once with `.notConnected`. The commands of
/// one `send` use one connection, in order, without other commands between them. Commands that change how a connection
/// replies (`SUBSCRIBE`, `MONITOR`, `CLIENT REPLY`, `QUIT`) must not be sent.
package final class RedisNode: RedisCommands {
    typealias Caller = CheckedContinuation<RedisResults, Never>
    typealias Connection = ConnectionKeeper<CommandConnection<Caller>>

    package let configuration: RedisNodeConfiguration
    private let eventLoops: any EventLoopGroup
    private let connections: [Connection]
    private let subscriber: ConnectionKeeper<SubscriberConnection>?
    private let forbiddenCommands = ForbiddenCommands()
    private let isShutDown = Atomic(false)

    /// - Parameters:
    ///   - eventLoops: each gets a connection. A caller on one of these event loops uses the loop's own connection;
    ///     other callers rotate.
    ///   - observer: receives the node's events.
    package init(_ configuration: RedisNodeConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver) {
        self.configuration = configuration
        self.eventLoops = eventLoops
        let commands = Connection.Parts(
            role: .commands, configuration: configuration,
            makeMachine: { CommandConnection(configuration, until: $0) },
            deliver: { [forbiddenCommands] delivery in
                forbiddenCommands.remember(delivery.results)
                delivery.waiter.resume(returning: delivery.results)
            },
            observe: observer.observe)
        connections = eventLoops.makeIterator().map { Connection(on: $0, commands) }
        let hasSubscriber = !configuration.trackedPrefixes.isEmpty || !configuration.channels.isEmpty
        subscriber = hasSubscriber ? .subscriber(configuration, observer, on: eventLoops.next()) : nil
    }

    package func start() {
        for connection in connections { connection.start() }
        subscriber?.start()
    }

    package func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        let ends = connections.map { $0.shutdown() } + (subscriber.map { [$0.shutdown()] } ?? [])
        for end in ends { try? await end.get() }
    }

    package var health: RedisHealth {
        let faults = connections.map(\.fault) + [subscriber?.fault]
        for case .some(let fault) in faults where fault.isLasting { return .misconfigured(fault) }
        if let refusal = forbiddenCommands.refusal { return .misconfigured(.refused(refusal)) }
        let ready = connections.count(where: \.isReady)
        return ready > 0 ? .connected(ready) : .disconnected(connections.lazy.compactMap(\.fault).first)
    }

    /// An empty command, to which Redis would not reply, fails all commands with `.protocolViolation`.
    package func send(_ commands: [RedisCommand]) async -> RedisResults {
        guard !commands.isEmpty else { return [] }
        let since = NIODeadline.now()
        guard let connection = readyConnection else {
            let error: RedisError = isShutDown.load(ordering: .relaxed) ? .shutDown : .notConnected
            return commands.map { _ in .failure(error) }
        }
        guard let bytes = ByteBuffer(commands: commands) else {
            return commands.map { _ in .failure(.protocolViolation) }
        }
        return await withCheckedContinuation { caller in
            connection.submit(Request(bytes: bytes, commands: commands.count, since: since, caller: caller))
        }
    }

    /// The connection on the caller's event loop, else a connection by rotation; another connection while that is not
    /// ready.
    private var readyConnection: Connection? {
        let loop = eventLoops.any()
        if let connection = connections.first(where: { $0.loop === loop }), connection.isReady { return connection }
        return connections.first(where: \.isReady)
    }
}

extension ConnectionKeeper where Machine == SubscriberConnection {
    fileprivate static func subscriber(
        _ configuration: RedisNodeConfiguration, _ observer: any RedisObserver, on loop: any EventLoop
    ) -> ConnectionKeeper {
        let parts = Parts(
            role: .subscriber, configuration: configuration,
            makeMachine: { SubscriberConnection(configuration, until: $0) },
            deliver: { _ in },
            observe: { event in
                observer.observe(event)
                guard !configuration.trackedPrefixes.isEmpty else { return }
                switch event {
                case .connected: observer.observe(.flushed(.subscribed))
                case .disconnected: observer.observe(.flushed(.subscriberLost))
                default: break
                }
            })
        return ConnectionKeeper(on: loop, parts)
    }
}

/// Remembers forbidden commands for `RedisNode.health`.
private final class ForbiddenCommands: Sendable {
    private let last = Mutex<(refusal: RedisRefusal, until: NIODeadline)?>(nil)

    /// The time for which a forbidden command affects the node's health.
    private static let memory = TimeAmount.seconds(60)

    func remember(_ results: RedisResults) {
        for case .failure(.refused(let refusal)) in results where refusal.isConfigurationFault {
            last.withLock { $0 = (refusal, .now() + Self.memory) }
        }
    }

    var refusal: RedisRefusal? {
        last.withLock { $0.flatMap { NIODeadline.now() < $0.until ? $0.refusal : nil } }
    }
}

extension RedisRefusal {
    /// True if a login may succeed a moment later without the operator.
    var isPassing: Bool {
        switch kind {
        case .loading, .masterDown, .busy, .tryAgain, .clusterDown, .readOnly, .outOfMemory, .misconfigured: true
        default: line.hasPrefix("ERR max number of clients reached")
        }
    }
}
