// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import LoopbackPorts
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import ReceiptForge
internal import Synchronization

/// A server on the loopback interface that receives webhooks, with an endpoint at each of some ports, and one port for
/// control requests.
final class WebhookReceiver: Sendable {
    struct Plan: Sendable {
        var endpoints: [ReceiverEndpoint.Plan]
        /// The port of control requests; 0 for any free port.
        var controlPort = 0
        /// The certificate of the endpoints; nil for HTTP without TLS.
        var tls: TLSIdentity?
    }

    let endpoints: [ReceiverEndpoint]
    private let tls: NIOSSLContext?
    private let listeners: Mutex<[String: ReceiverListener]>
    /// Also reserved while an endpoint is down.
    private let ports: [String: ReservedPort]
    private let control = Mutex<ReceiverListener?>(nil)

    private init(
        _ endpoints: [ReceiverEndpoint], _ ports: [String: ReservedPort], _ listeners: [String: ReceiverListener],
        _ tls: NIOSSLContext?
    ) {
        self.endpoints = endpoints
        self.tls = tls
        self.listeners = Mutex(listeners)
        self.ports = ports
    }

    /// Starts all listeners.
    static func start(_ plan: Plan) async throws -> WebhookReceiver {
        let tls = try plan.tls.map(NIOSSLContext.init(serving:))
        let endpoints = plan.endpoints.map(ReceiverEndpoint.init)
        var ports: [String: ReservedPort] = [:], listeners: [String: ReceiverListener] = [:]
        for endpoint in endpoints {
            let port = try reserve(endpoint.plan.port)
            ports[endpoint.name] = port
            listeners[endpoint.name] = try await ReceiverListener.start(at: port, tls) { .of(endpoint) }
        }
        let receiver = WebhookReceiver(endpoints, ports, listeners, tls)
        let control = try await ReceiverListener.start(at: reserve(plan.controlPort), nil) { receiver.controlHandler }
        receiver.control.withLock { $0 = control }
        return receiver
    }

    private static func reserve(_ number: Int) throws(ReceiverError) -> ReservedPort {
        do { return try ReservedPort(number) } catch { throw .portUnavailable(number, reason: "\(error)") }
    }

    var controlURL: String { "http://127.0.0.1:\(control.withLock { $0?.port } ?? 0)" }

    func url(of endpoint: ReceiverEndpoint) -> String {
        let scheme = tls == nil ? "http" : "https"
        return "\(scheme)://127.0.0.1:\(ports[endpoint.name]?.number ?? 0)\(endpoint.path)"
    }

    subscript(name: String) -> ReceiverEndpoint? { endpoints.first { $0.name == name } }

    /// Replaces the fault of an endpoint; returns when its listener is as the fault requires.
    func set(_ fault: ReceiverFault, of endpoint: ReceiverEndpoint, requests: Int? = nil) async throws {
        endpoint.set(fault, requests: requests)
        guard fault == .down else { return try await open(endpoint) }
        let listener = listeners.withLock { $0.removeValue(forKey: endpoint.name) }
        await listener?.stop()
    }

    private func open(_ endpoint: ReceiverEndpoint) async throws {
        guard listeners.withLock({ $0[endpoint.name] == nil }), let port = ports[endpoint.name] else { return }
        let listener = try await ReceiverListener.start(at: port, tls) { .of(endpoint) }
        listeners.withLock { $0[endpoint.name] = listener }
    }

    /// Closes all connections and listeners.
    func stop() async {
        let all = listeners.withLock { listeners in
            defer { listeners = [:] }
            return Array(listeners.values)
        }
        for listener in all { await listener.stop() }
        await control.withLock(\.self)?.stop()
    }
}

extension WebhookReceiver: RunningProgram {}

// MARK: - Control requests

extension WebhookReceiver {
    /// One endpoint in `GET /stats`.
    struct EndpointStats: Hashable, Sendable, Codable {
        let url: String
        let counts: DeliveryTally.Counts
        /// A digest of the order within each original transaction: equal at endpoints that received the same events.
        let orderDigest: String
        /// The time from the first to the last delivery that was taken.
        let seconds: Double
    }

    /// The counts of each endpoint by its name.
    var stats: [String: EndpointStats] {
        let pairs = endpoints.map { endpoint in
            let tally = endpoint.tally
            let seconds = tally.first.flatMap { first in tally.last.map { ($0 - first).seconds } } ?? 0
            let stats = EndpointStats(
                url: url(of: endpoint), counts: tally.counts, orderDigest: String(tally.order, radix: 16),
                seconds: seconds.rounded(toDecimals: 3))
            return (endpoint.name, stats)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private var controlHandler: ReceiverHandler {
        ReceiverHandler { [self] head, body in
            do {
                return try respond(head.method, head.uri, String(decoding: body ?? [], as: UTF8.self))
            } catch {
                return ReceiverResponse(status: .unprocessableEntity, body: Array("\(error)\n".utf8))
            }
        }
    }

    private func respond(_ method: HTTPMethod, _ path: String, _ body: String) throws -> ReceiverResponse {
        switch (method, path) {
        case (.GET, "/stats"):
            return ReceiverResponse(
                headers: ["Content-Type": "application/json"], body: Array(try JSONOutput.of(stats).utf8))
        case (.DELETE, "/stats"):
            for endpoint in endpoints { endpoint.reset() }
            return ReceiverResponse(status: .noContent)
        case (.PUT, "/control"):
            try carryOut(ReceiverControl(body))
            return ReceiverResponse(status: .noContent)
        default:
            let known = "Supported: GET and DELETE /stats, PUT /control.\n"
            return ReceiverResponse(status: .notFound, body: Array(known.utf8))
        }
    }

    /// Changes a fault. A listener closes or opens a moment after the answer.
    private func carryOut(_ control: ReceiverControl) throws(ReceiverError) {
        guard let endpoint = self[control.endpoint] else { throw .unknownEndpoint(endpoints.map(\.name)) }
        endpoint.set(control.fault, requests: control.requests)
        Task { try await set(control.fault, of: endpoint, requests: control.requests) }
    }
}

enum ReceiverError: Error, Hashable, CustomStringConvertible {
    case unknownEndpoint([String])
    case portUnavailable(Int, reason: String)
    case identityUnusable

    var description: String {
        switch self {
        case .unknownEndpoint(let known): "No endpoint has this name; known are \(known.joined(separator: ", "))."
        case .portUnavailable(let port, let reason): "Cannot listen on port \(port) of 127.0.0.1: \(reason)"
        case .identityUnusable: "The server's certificate and private key are not a matching pair in PEM."
        }
    }
}

// MARK: - Listeners

/// A port of the receiver, and the connections to it.
final class ReceiverListener: Sendable {
    private enum Limits {
        static let backlog: Int32 = 1024
        /// The open connections; one more is closed at once.
        static let connections = 4096
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let server = Mutex<(any Channel)?>(nil)

    private init() {}

    /// Starts to listen.
    static func start(
        at port: ReservedPort, _ tls: NIOSSLContext?, _ handler: @escaping @Sendable () -> ReceiverHandler
    ) async throws(ReceiverError) -> ReceiverListener {
        let listener = ReceiverListener()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Limits.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard listener.admit(channel) else { return channel.close(promise: nil) }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(handler())
                }
            }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: port.number).get()
            listener.server.withLock { $0 = channel }
            return listener
        } catch {
            throw .portUnavailable(port.number, reason: "\(error)")
        }
    }

    var port: Int { server.withLock { $0?.localAddress?.port } ?? 0 }

    /// Refuses connections, and closes open connections.
    func stop() async {
        try? await server.withLock(\.self)?.close()
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.close() }
    }

    private func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = state.withLock { state in
            guard !state.isClosed, state.channels.count < Limits.connections else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return true
    }
}

extension NIOSSLContext {
    fileprivate convenience init(serving identity: TLSIdentity) throws(ReceiverError) {
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
