// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A TCP proxy on 127.0.0.1 that injects faults, which can be changed at any time.
///
/// Everything runs on one event loop, so that pieces keep their order.
public final class FaultProxy: Sendable {
    private struct State {
        var faults = ProxyFaults()
        var relays: [ObjectIdentifier: Relay] = [:]
        var listener: (any Channel)?
        var accepted = 0
    }

    /// The port it listens on, which never changes.
    public var port: Int { reserved.number }
    private let reserved: ReservedPort
    private let serverPort: Int
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    /// Starts a proxy for a server on this machine, which need not be running yet.
    public init(to serverPort: Int) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        reserved = try ReservedPort()
        (self.serverPort, self.loop) = (serverPort, loop)
        state = try await loop.submit { NIOLoopBoundBox(State(), eventLoop: loop) }.get()
        try await accept()
    }

    /// The number of connections accepted so far.
    public var accepted: Int {
        get async throws { try await onLoop { $0.accepted } }
    }

    /// Sets the faults, also for open connections.
    public func set(_ faults: ProxyFaults) async throws {
        try await onLoop { state in
            state.faults = faults
            for relay in state.relays.values { relay.faultsChanged(to: faults) }
        }
    }

    /// Removes all faults.
    public func heal() async throws {
        try await set(ProxyFaults())
        if try await onLoop({ $0.listener == nil }) { try await accept() }
    }

    /// Ends every connection with RST and refuses others, as a machine without a listener does.
    public func refuse() async throws {
        let listener = try await onLoop { state in
            let listener = state.listener
            state.listener = nil
            for relay in state.relays.values { relay.end(.reset) }
            return listener
        }
        try await listener?.close()
    }

    /// Ends every connection, and the proxy.
    public func close() async throws {
        try await refuse()
    }

    private func accept() async throws {
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            // Nothing is read from a connection before there is one to pass it on to.
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { [weak self] client in
                self?.connect(client)
                return client.eventLoop.makeSucceededVoidFuture()
            }
        let listener = try await bootstrap.bind(host: "127.0.0.1", port: reserved.number).get()
        try await onLoop { $0.listener = listener }
    }

    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (inout State) -> Value
    ) async throws -> Value {
        try await loop.submit { [state] in body(&state.value) }.get()
    }

    /// Joins a new connection with one to the server. Without a server it is closed at once.
    private func connect(_ client: any Channel) {
        state.value.accepted += 1
        ClientBootstrap(group: client.eventLoop)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: serverPort)
            .assumeIsolated()
            .whenComplete { [weak self] result in
                guard let self, case .success(let server) = result else { return client.close(promise: nil) }
                join(client, server)
            }
    }

    private func join(_ client: any Channel, _ server: any Channel) {
        let requests = Relay(.requests, from: client, to: server, state.value.faults)
        let answers = Relay(.answers, from: server, to: client, state.value.faults)
        do {
            try client.pipeline.syncOperations.addHandler(requests)
            try server.pipeline.syncOperations.addHandler(answers)
        } catch {
            client.close(promise: nil)
            return server.close(promise: nil)
        }
        for relay in [requests, answers] {
            let id = ObjectIdentifier(relay)
            state.value.relays[id] = relay
            relay.source.closeFuture.assumeIsolated().whenComplete { [state] _ in state.value.relays[id] = nil }
            relay.source.setOption(.autoRead, value: true).assumeIsolated().whenComplete { _ in relay.source.read() }
        }
    }
}
