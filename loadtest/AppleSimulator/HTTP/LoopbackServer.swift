// SPDX-License-Identifier: Apache-2.0

package import LoopbackPorts
package import NIOCore
internal import NIOPosix
package import NIOSSL
package import ReceiptForge
internal import Synchronization

/// A port of the loopback interface at which a simulated server accepts connections.
package struct LoopbackServer: Sendable {
    private let channel: any Channel
    package let port: Int

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - connections: admits each connection, and may close all.
    ///   - setUp: adds the handlers of a connection.
    package static func start(
        at port: ReservedPort, _ connections: Connections, _ setUp: @escaping @Sendable (any Channel) throws -> Void
    ) async throws(SimulatorError) -> LoopbackServer {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard connections.admit(channel) else { return channel.close(promise: nil) }
                    try setUp(channel)
                }
            }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: port.number).get()
            return LoopbackServer(channel: channel, port: port.number)
        } catch {
            throw .portUnavailable(port.number, reason: "\(error)")
        }
    }

    /// Reserves a port; 0 stands for any free port.
    package static func reserve(_ number: Int = 0) throws(SimulatorError) -> ReservedPort {
        do { return try ReservedPort(number) } catch { throw .portUnavailable(number, reason: "\(error)") }
    }

    /// Stops listening; open connections stay open.
    package func stop() async {
        try? await channel.close()
    }
}

extension NIOSSLContext {
    /// Creates the context of a server, ready for handshakes.
    package convenience init(serving identity: TLSIdentity) throws(SimulatorError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
            let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            try self.init(configuration: configuration)
        } catch {
            throw .identityUnusable
        }
    }
}

/// The open connections, to limit their number and to close them all.
package final class Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let maximumConnections: Int

    package init(maximumConnections: Int) {
        self.maximumConnections = maximumConnections
    }

    /// Adds a connection until it closes. Returns false at the limit.
    func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = state.withLock { state in
            guard !state.isClosed, state.channels.count < maximumConnections else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return true
    }

    /// Closes all connections and admits no more.
    package func closeAll() async {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }
}
