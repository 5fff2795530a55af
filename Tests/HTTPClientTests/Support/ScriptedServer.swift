// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import ReceiptForge
import Synchronization

/// A server that handles each request by its script, byte for byte.
struct ScriptedServer: Sendable {
    /// The server's next action on a connection.
    enum Step: Sendable {
        /// Send these bytes.
        case send(String)
        /// Wait until the gate opens.
        case wait(Gate)
        /// Do nothing more.
        case hold
        /// Close gracefully (FIN).
        case close
        /// Close with a reset (RST).
        case reset
    }

    /// An event on the server's side.
    enum Event: Sendable, Equatable {
        case accepted
        case handshake(alpn: String?)
        case request
        case closed
        case streamReset
    }

    typealias Script = @Sendable (ReceivedRequest) -> [Step]

    let port: Int
    let scheme: String
    private let record: Record

    /// Returns a URL of the server; the default host is that of its certificate.
    func url(_ path: String = "/", host: String = "localhost") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    /// Returns the number of these events so far.
    func count(of event: Event) -> Int { record.count(of: event) }

    /// Waits until the event has occurred so many times.
    func saw(_ event: Event, times: Int = 1) async {
        await record.waitFor(event, times: times)
    }

    /// Runs a server during `body`. It ignores the first `deafConnections` connections.
    static func with(
        tls identity: TLSIdentity? = nil, alpn: [String] = ["http/1.1"], maximumTLSVersion: TLSVersion? = nil,
        deafConnections: Int = 0, _ script: @escaping Script, isolation: isolated (any Actor)? = #isolation,
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let record = Record()
        let context = try identity.map {
            try NIOSSLContext(configuration: .server($0, alpn: alpn, maximumTLSVersion: maximumTLSVersion))
        }
        let deaf = Atomic(deafConnections)
        try await listening { channel in
            if deaf.subtract(1, ordering: .relaxed).oldValue > 0 {
                return try channel.pipeline.syncOperations.addHandler(ConnectionRecorder(record))
            }
            if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
            try channel.pipeline.syncOperations.addHandlers(
                ConnectionRecorder(record), ScriptHandler(script, record))
        } _: { port in
            try await body(ScriptedServer(port: port, scheme: identity == nil ? "http" : "https", record: record))
        }
    }

    /// Runs an HTTP/2 server during `body`.
    static func withStreams(
        _ script: @escaping @Sendable (_ path: String) -> StreamScript, isolation: isolated (any Actor)? = #isolation,
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let record = Record()
        let context = try NIOSSLContext(
            configuration: .server(Authorities.localhost, alpn: ["h2"], maximumTLSVersion: nil))
        try await listening { channel in
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            try channel.pipeline.syncOperations.addHandler(ConnectionRecorder(record))
            _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
            ) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandler(StreamHandler(script, record))
                }
            }
        } _: { port in
            try await body(ScriptedServer(port: port, scheme: "https", record: record))
        }
    }

    /// Runs a server that sends first and never reads, during `body`.
    static func greeting(
        _ text: String, isolation: isolated (any Actor)? = #isolation, _ body: (_ port: Int) async throws -> Void
    ) async throws {
        try await listening({ $0.writeAndFlush(ByteBuffer(string: text), promise: nil) }, body)
    }

    private static func listening(
        _ prepare: @escaping @Sendable (any Channel) throws -> Void, isolation: isolated (any Actor)? = #isolation,
        _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try prepare(channel) } }
            .bind(host: "127.0.0.1", port: 0).get()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(listener.localAddress?.port ?? 0)) } catch { outcome = .failure(error) }
        try await listener.close()
        try outcome.get()
    }
}

extension TLSConfiguration {
    fileprivate static func server(
        _ identity: TLSIdentity, alpn: [String], maximumTLSVersion: TLSVersion?
    ) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [
                .certificate(try NIOSSLCertificate(bytes: Array(identity.certificatePEM.utf8), format: .pem))
            ],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)))
        configuration.applicationProtocols = alpn
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = maximumTLSVersion
        return configuration
    }
}

/// The events of a server, for tests to wait for.
final class Record: Sendable {
    private struct Waiter {
        let event: ScriptedServer.Event
        let times: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var events: [ScriptedServer.Event] = []
        var waiters: [Waiter] = []

        func count(of event: ScriptedServer.Event) -> Int { events.count { $0 == event } }
    }

    private let state = Mutex(State())

    func add(_ event: ScriptedServer.Event) {
        let ready = state.withLock { state in
            state.events.append(event)
            let count = state.count(of: event)
            let ready = state.waiters.filter { $0.event == event && $0.times <= count }
            state.waiters.removeAll { $0.event == event && $0.times <= count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func count(of event: ScriptedServer.Event) -> Int { state.withLock { $0.count(of: event) } }

    func waitFor(_ event: ScriptedServer.Event, times: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count(of: event) >= times { return true }
                state.waiters.append(Waiter(event: event, times: times, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// A gate that a test opens, for any number of waiting scripts.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>

    init(isOpen: Bool = false) {
        state = Mutex(State(isOpen: isOpen))
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for action in waiting { action() }
    }

    func whenOpen(_ action: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(action) }
            return state.isOpen
        }
        if isOpen { action() }
    }
}
