// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import ServiceLifecycle

package enum ListenerPlane: String, Sendable {
    case data, admin
}

/// One open port. It accepts connections until the graceful shutdown, then waits for the last of them to end.
package struct HTTPListener: Service {
    private let plane: ListenerPlane
    private let address: ListenerConfiguration
    private let opening: ConnectionOpening
    private let logger: Logger
    private let onListening: @Sendable (Int) async -> Void

    /// Creates a listener; `run` opens its port.
    /// - Parameters:
    ///   - metrics: nil for the admin plane.
    ///   - certificate: returns the certificate for a new connection; nil for a listener without TLS.
    ///   - onListening: called with the port once it is open.
    package init(
        plane: ListenerPlane, address: ListenerConfiguration, http: HTTPConfiguration, rules: EdgeRules,
        budget: BodyBudget, lifecycle: ServerLifecycle, pipeline: RequestPipeline, metrics: EdgeMetrics? = nil,
        certificate: @escaping @Sendable () -> ServerCertificate? = { nil }, logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void
    ) {
        (self.plane, self.address) = (plane, address)
        let edge = Edge(
            rules: rules, budget: budget, lifecycle: lifecycle, pipeline: pipeline, metrics: metrics,
            sources: SourceLimits(http.limits, http.remoteAddresses))
        opening = ConnectionOpening(
            edge: edge, limits: http.limits, certificate: certificate,
            handshakeDeadline: TimeAmount(http.deadlines.handshake), proxies: http.proxyProtocolAddresses,
            logger: logger)
        (self.logger, self.onListening) = (logger, onListening)
    }

    func run() async throws {
        let quiescing = ServerQuiescingHelper(group: MultiThreadedEventLoopGroup.singleton)
        let server = try await bind(quiescing)
        let port = server.localAddress?.port ?? address.port
        logger.notice(
            "Listening",
            metadata: [
                "plane": "\(plane.rawValue)", "host": "\(address.host)", "port": .stringConvertible(port),
            ])
        await onListening(port)
        let (events, report) = AsyncStream.makeStream(of: Event.self)
        server.closeFuture.whenComplete { _ in report.yield(.closed) }
        defer { server.close(promise: nil) }
        try await withGracefulShutdownHandler {
            // Ends when all connections have ended, or when the task is cancelled.
            for await event in events {
                if event == .drained { return }
                // A node that no longer listens must not look alive.
                guard Task.isShuttingDownGracefully else { throw ListenerClosed(plane: plane) }
            }
        } onGracefulShutdown: {
            let promise = server.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenComplete { _ in report.yield(.drained) }
            quiescing.initiateShutdown(promise: promise)
        }
    }

    private enum Event {
        case closed
        /// The last connection has ended.
        case drained
    }

    private func bind(_ quiescing: ServerQuiescingHelper) async throws -> any Channel {
        let (opening, limits) = (opening, opening.limits)
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Int32(clamping: limits.connections))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ConnectionLimit(maximum: limits.connections, logger: logger),
                        quiescing.makeServerChannelHandler(channel: channel))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try opening.open(channel)
                }
            }
            .bind(host: address.host, port: address.port).get()
    }
}

struct ListenerClosed: Error, CustomStringConvertible {
    let plane: ListenerPlane

    var description: String { "the port of the \(plane.rawValue) plane was closed by the system" }
}

/// Stops accepting while a listener has its maximum number of connections, and for one second after an error, such as
/// no free file descriptor. Further connections wait in the system's backlog.
private final class ConnectionLimit: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private let maximum: Int
    private let logger: Logger
    private var count = 0
    /// True if an accept was requested and postponed.
    private var isRejected = false
    /// The time before which the limit is not logged again: it may be reached anew after each connection that ends.
    private var nextWarning = NIODeadline.uptimeNanoseconds(0)

    init(maximum: Int, logger: Logger) {
        (self.maximum, self.logger) = (maximum, logger)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += 1
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (handler, context) = bound.value
            handler.connectionClosed(context)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        guard count >= maximum else { return context.read() }
        guard !isRejected else { return }
        isRejected = true
        guard nextWarning <= .now() else { return }
        nextWarning = .now() + .seconds(10)
        logger.warning("Connection limit reached", metadata: ["connections": .stringConvertible(maximum)])
    }

    /// Switches `autoRead` off for a second. The socket stays readable after an error, so SwiftNIO would otherwise
    /// retry at once for as long as the error lasts.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
        logger.error("Cannot accept connections", metadata: ["errno": .stringConvertible(error.errnoCode)])
        let options = context.channel.syncOptions
        try? options?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            try? options?.setOption(.autoRead, value: true)
        }
    }

    private func connectionClosed(_ context: ChannelHandlerContext) {
        count -= 1
        guard isRejected, count < maximum else { return }
        isRejected = false
        context.read()
    }
}

extension Channel {
    func useFreshReceiveBuffers() throws {
        try syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        try syncOptions?.setOption(.recvAllocator, value: FreshReceiveBuffers())
    }
}

/// Read buffers sized by recent reads, a new buffer for each read.
///
/// Otherwise each idle connection keeps the buffers of its last request: with ten thousand of them, more buffers than
/// there are ever requests at one time. Only the first buffer is kept, which is small. A connection must read once per
/// cycle (`maxMessagesPerRead`).
struct FreshReceiveBuffers: RecvByteBufferAllocator {
    /// The size for the first read, which brings a header. Most of an ordinary body comes with the second.
    private static let firstBytes = 1024
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16_384, maximum: 65_536)
    private var isFirst = true

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        isFirst ? allocator.buffer(capacity: Self.firstBytes) : sizes.buffer(allocator: allocator)
    }

    /// - Returns: true, because only a buffer that may grow is replaced.
    mutating func record(actualReadBytes: Int) -> Bool {
        if !isFirst { _ = sizes.record(actualReadBytes: actualReadBytes) }
        isFirst = false
        return true
    }
}
