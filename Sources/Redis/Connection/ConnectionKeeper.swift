// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Keeps one connection up: connects, and reconnects with delays until shutdown. Runs on its event loop.
final class ConnectionKeeper<Machine: ConnectionMachine & SendableMetatype>: Sendable where Machine.Waiter: Sendable {
    private enum Phase {
        case idle, running, shutDown
    }

    private struct State {
        var phase = Phase.idle
        /// The present connection, ready or logging in.
        var handler: ConnectionHandler<Machine>?
        /// Completes when the last connection is closed.
        var closed: EventLoopFuture<Void>?
        var retry: Scheduled<Void>?
        var readySince: NIODeadline?
        var failures = 0
    }

    struct Parts: Sendable {
        let role: RedisConnectionRole
        let configuration: RedisNodeConfiguration
        /// Creates the state machine; `until` is the deadline of its login.
        let makeMachine: @Sendable (_ until: NIODeadline) -> Machine
        let deliver: @Sendable (Delivery<Machine.Waiter>) -> Void
        let observe: @Sendable (RedisEvent) -> Void
    }

    let loop: any EventLoop
    private let parts: Parts
    private let state: NIOLoopBoundBox<State>
    private let readiness = Atomic(false)
    private let lastFault = Mutex<RedisConnectionFault?>(nil)

    init(on loop: any EventLoop, _ parts: Parts) {
        self.loop = loop
        self.parts = parts
        state = .makeBoxSendingValue(State(), eventLoop: loop)
    }

    /// True while the connection is usable. May change at any time.
    var isReady: Bool { readiness.load(ordering: .relaxed) }
    /// The reason why there is no connection; nil with a connection, and before the first attempt has ended.
    var fault: RedisConnectionFault? { lastFault.withLock { $0 } }

    func start() {
        loop.execute {
            guard self.state.value.phase == .idle else { return }
            self.state.value.phase = .running
            self.connect()
        }
    }

    /// Ends the connection permanently.
    /// - Returns: completes when the connection is closed.
    func shutdown() -> EventLoopFuture<Void> {
        loop.flatSubmit {
            self.state.value.phase = .shutDown
            self.state.value.retry?.cancel()
            self.state.value.handler?.end(.shutDown)
            return self.state.value.closed ?? self.loop.makeSucceededVoidFuture()
        }
    }

    // MARK: - Connecting

    private func connect() {
        let until = NIODeadline.now() + TimeAmount(parts.configuration.connectDeadline)
        let connected = bootstrap(until: until).connect(to: parts.configuration.address)
        state.value.closed = connected.flatMap { $0.closeFuture }.recover { _ in }
        connected.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.adopt(channel)
            case .failure(let error):
                self.ended(RedisTLSFault(error).map { .tls($0) } ?? .unreachable(connectFailureReason(error)))
            }
        }
    }

    private func bootstrap(until: NIODeadline) -> ClientBootstrap {
        let (parts, limits) = (parts, parts.configuration.limits)
        return ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(parts.configuration.connectDeadline))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(
                .writeBufferWaterMark, value: .init(low: limits.maximumUnsentBytes / 2, high: limits.maximumUnsentBytes)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = try parts.configuration.tlsHandler() { try pipeline.addHandler(tls) }
                    let machine = parts.makeMachine(until)
                    try pipeline.addHandler(ConnectionHandler(machine, limits: limits))
                }
            }
    }

    private func adopt(_ channel: any Channel) {
        guard let handler = try? channel.pipeline.syncOperations.handler(type: ConnectionHandler<Machine>.self) else {
            return ended(.closed)
        }
        state.value.handler = handler
        handler.begin(.init(ready: becomeReady, ended: ended, deliver: parts.deliver, observe: parts.observe))
        if state.value.phase == .shutDown { handler.end(.shutDown) }
    }

    private func becomeReady() {
        state.value.readySince = .now()
        lastFault.withLock { $0 = nil }
        readiness.store(true, ordering: .relaxed)
        parts.observe(.connected(parts.role))
    }

    private func ended(_ fault: RedisConnectionFault) {
        let readySince = state.value.readySince
        (state.value.handler, state.value.readySince) = (nil, nil)
        readiness.store(false, ordering: .relaxed)
        lastFault.withLock { $0 = fault }
        parts.observe(readySince == nil ? .connectFailed(parts.role, fault) : .disconnected(parts.role, fault))
        if state.value.phase == .running { retry(after: delay(after: fault, readySince: readySince)) }
    }

    private func delay(after fault: RedisConnectionFault, readySince: NIODeadline?) -> Duration {
        let reconnection = parts.configuration.reconnection
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        if case .refused(let refusal) = fault, !refusal.isPassing {
            return reconnection.delayAfterRefusal(using: &generator)
        }
        if let readySince, readySince + TimeAmount(reconnection.longest) <= .now() { state.value.failures = 0 }
        defer { state.value.failures += 1 }
        return reconnection.delay(afterFailures: state.value.failures, using: &generator)
    }

    private func retry(after delay: Duration) {
        state.value.retry = loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { self.connect() }
    }

    // MARK: - Commands

    /// Sends commands, from any thread; the caller always gets a delivery.
    func submit<Caller: Sendable>(_ request: Request<Caller>) where Machine == CommandConnection<Caller> {
        if loop.inEventLoop { return submitHere(request) }
        loop.execute { self.submitHere(request) }
    }

    private func submitHere<Caller: Sendable>(_ request: Request<Caller>) where Machine == CommandConnection<Caller> {
        let handler = state.value.handler
        let isShutDown = state.value.phase == .shutDown
        guard let error = handler.map({ $0.submit(request) }) ?? (isShutDown ? .shutDown : .notConnected) else {
            return
        }
        let results = Array(repeating: Result<RedisValue, RedisError>.failure(error), count: request.commands)
        parts.deliver(Delivery(waiter: request.caller, results: results))
    }
}

extension ClientBootstrap {
    fileprivate func connect(to address: RedisAddress) -> EventLoopFuture<any Channel> {
        switch address {
        case .host(let host, let port): connect(host: host, port: port)
        case .unixSocket(let path): connect(unixDomainSocketPath: path)
        }
    }
}

/// Returns a short reason for logs why connecting failed: SwiftNIO's own texts have type names and repeat the address.
private func connectFailureReason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
        // An address that was tried is more helpful than an address that was not found.
        if let failure = error.connectionErrors.first { return connectFailureReason(failure.error) }
        return "the name \(error.host) has no address"
    case let error as IOError: return connectFailureReason(errno: error.errnoCode)
    case ChannelError.connectTimeout: return "connecting timed out"
    default: return "connecting failed with \(type(of: error))"
    }
}

private func connectFailureReason(errno code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "connection refused"
    case ETIMEDOUT: "connecting timed out"
    case EHOSTUNREACH, ENETUNREACH: "no route to the host"
    case ENOENT: "no such socket"
    case EACCES, EPERM: "permission denied"
    default: "errno \(code)"
    }
}
