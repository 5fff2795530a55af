// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import ReceiptForge
internal import Synchronization

/// One endpoint on the loopback interface.
struct Listener: Sendable {
    private let channel: any Channel
    let url: String

    /// Starts to listen.
    static func start(
        _ responder: RequestResponder, at port: ReservedPort, _ tls: TLSContexts?, _ connections: Connections
    ) async throws(SimulatorError) -> Listener {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard connections.admit(channel) else { return channel.close(promise: nil) }
                    try setUp(channel, responder, tls)
                }
            }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: port.number).get()
            let scheme = tls == nil ? "http" : "https"
            return Listener(channel: channel, url: "\(scheme)://127.0.0.1:\(port.number)/verifyReceipt")
        } catch {
            throw .portUnavailable(port.number, reason: "\(error)")
        }
    }

    /// Stops listening; open connections stay open.
    func stop() async {
        try? await channel.close()
    }

    private static func setUp(_ channel: any Channel, _ responder: RequestResponder, _ tls: TLSContexts?) throws {
        let stats = responder.store.stats
        let showsWrongCertificate = tls != nil && responder.store.showsWrongCertificate(at: responder.endpoint)
        stats.open(showsWrongCertificate: showsWrongCertificate)
        channel.closeFuture.whenComplete { _ in stats.close() }
        let pipeline = channel.pipeline.syncOperations
        if let tls {
            let context = showsWrongCertificate ? tls.wrong : tls.right
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(ConversationHandler(responder: responder))
    }
}

/// The listeners of both endpoints, and their connections.
struct ListenerPair: Sendable {
    let production, sandbox: Listener
    private let connections: Connections

    /// Starts to listen.
    static func start(
        _ store: SimulatedStore, at ports: (production: ReservedPort, sandbox: ReservedPort), _ tls: TLSContexts?
    ) async throws(SimulatorError) -> ListenerPair {
        let connections = Connections(maximumConnections: store.limits.maximumConnections)
        let production = try await Listener.start(
            RequestResponder(store: store, endpoint: .production), at: ports.production, tls, connections)
        do throws(SimulatorError) {
            let sandbox = try await Listener.start(
                RequestResponder(store: store, endpoint: .sandbox), at: ports.sandbox, tls, connections)
            return ListenerPair(production: production, sandbox: sandbox, connections: connections)
        } catch {
            await production.stop()
            throw error
        }
    }

    /// Stops listening, and closes all connections, answered or not.
    func stop() async {
        for listener in [production, sandbox] { await listener.stop() }
        await connections.closeAll()
    }
}

/// The endpoints' certificates, ready for handshakes.
struct TLSContexts: Sendable {
    /// The certificate that clients trust.
    let right: NIOSSLContext
    /// A certificate for the same hosts from an untrusted authority.
    let wrong: NIOSSLContext

    init(_ identity: TLSIdentity) throws(SimulatorError) {
        let stranger = TLSAuthority(seed: 0x5712_A46E)
        do {
            right = try Self.context(identity)
            wrong = try Self.context(stranger.identity(forHosts: ["localhost", "127.0.0.1"]))
        } catch {
            throw .identityUnusable
        }
    }

    private static func context(_ identity: TLSIdentity) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }
}

/// The open connections, to limit their number and to close them all.
final class Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let maximumConnections: Int

    init(maximumConnections: Int) {
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
    func closeAll() async {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }
}
