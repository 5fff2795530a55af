// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import ReceiptForge

/// The servers of both endpoints, and their connections.
struct ListenerPair: Sendable {
    /// The URLs of the servers, without a path.
    let productionURL, sandboxURL: String
    private let servers: [LoopbackServer]
    private let connections: Connections

    static func start(
        _ store: SimulatedStore, at ports: (production: ReservedPort, sandbox: ReservedPort), _ tls: TLSContexts?
    ) async throws(SimulatorError) -> ListenerPair {
        let connections = Connections(maximumConnections: store.limits.maximumConnections)
        func server(_ endpoint: Endpoint, at port: ReservedPort) async throws(SimulatorError) -> LoopbackServer {
            let responder = RequestResponder(store: store, endpoint: endpoint)
            return try await LoopbackServer.start(at: port, connections) { try setUp($0, responder, tls) }
        }
        let production = try await server(.production, at: ports.production)
        do throws(SimulatorError) {
            let sandbox = try await server(.sandbox, at: ports.sandbox)
            let base = "\(tls == nil ? "http" : "https")://127.0.0.1:"
            return ListenerPair(
                productionURL: "\(base)\(production.port)", sandboxURL: "\(base)\(sandbox.port)",
                servers: [production, sandbox], connections: connections)
        } catch {
            await production.stop()
            throw error
        }
    }

    /// Stops listening, and closes all connections, answered or not.
    func stop() async {
        for server in servers { await server.stop() }
        await connections.closeAll()
    }

    static func setUp(_ channel: any Channel, _ responder: RequestResponder, _ tls: TLSContexts?) throws {
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

/// The endpoints' certificates, ready for handshakes.
struct TLSContexts: Sendable {
    /// The certificate that clients trust.
    let right: NIOSSLContext
    /// A certificate for the same hosts from an untrusted authority.
    let wrong: NIOSSLContext

    init(_ identity: TLSIdentity) throws(SimulatorError) {
        let stranger = TLSAuthority(seed: 0x5712_A46E)
        right = try NIOSSLContext(serving: identity)
        wrong = try NIOSSLContext(serving: stranger.identity(forHosts: ["localhost", "127.0.0.1"]))
    }
}
