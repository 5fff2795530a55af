// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTransport
import NIOCore
import NIOPosix
import NIOSSL
import ReceiptForge
import Synchronization

/// A server that does with each request what its script says, byte for byte.
struct ScriptedServer: Sendable {
    /// What the server does next on a connection.
    enum Step: Sendable {
        /// Send these bytes.
        case send(String)
        /// Wait until the gate opens.
        case wait(Gate)
        /// Never do anything more.
        case hold
        /// Close in order (FIN).
        case close
        /// Close with a reset (RST).
        case reset
    }

    /// What was seen on the server's side.
    enum Event: Sendable, Equatable {
        case accepted
        case handshake(alpn: String?)
        case request
        case closed
    }

    typealias Script = @Sendable (ReceivedRequest) -> [Step]

    let port: Int
    let scheme: String
    private let record: Record

    /// An address of the server; the host is the one of its certificate unless another one is asked for.
    func url(_ path: String = "/", host: String = "localhost") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    /// How many connections were accepted so far.
    var acceptedCount: Int { record.count(of: .accepted) }

    /// Waits until something was seen so many times.
    func saw(_ event: Event, times: Int = 1) async {
        await record.waitFor(event, times: times)
    }

    /// What was agreed on in TLS handshakes so far.
    var handshakes: [Event] { record.all { if case .handshake = $0 { true } else { false } } }

    /// Runs a server around `body`.
    static func with(
        tls identity: TLSIdentity? = nil, alpn: [String] = ["http/1.1"], _ script: @escaping Script,
        isolation: isolated (any Actor)? = #isolation, _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let record = Record()
        let context = try identity.map { try NIOSSLContext(configuration: .server($0, alpn: alpn)) }
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(ScriptHandler(script, record))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = ScriptedServer(
            port: listener.localAddress?.port ?? 0, scheme: identity == nil ? "http" : "https", record: record)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(server)) } catch { outcome = .failure(error) }
        try await listener.close()
        try outcome.get()
    }
}

extension TLSConfiguration {
    fileprivate static func server(_ identity: TLSIdentity, alpn: [String]) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [
                .certificate(try NIOSSLCertificate(bytes: Array(identity.certificatePEM.utf8), format: .pem))
            ],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)))
        configuration.applicationProtocols = alpn
        return configuration
    }
}

/// What a server has seen, for tests to wait on.
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

    func all(_ isWanted: (ScriptedServer.Event) -> Bool) -> [ScriptedServer.Event] {
        state.withLock { $0.events.filter(isWanted) }
    }

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

/// Something a test opens when it is time, for any number of scripts that wait for it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

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
