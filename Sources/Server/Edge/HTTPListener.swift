// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import ServiceLifecycle

/// One open port: accepts connections until the graceful shutdown, and then waits for the last of them to end.
struct HTTPListener: Service {
    /// The name in the log.
    let plane: GatewaySurroundings.Listener
    /// The address to bind.
    let address: ListenerConfiguration
    /// The limits of header, body and connections.
    let limits: HTTPLimits
    /// What all connections share.
    let edge: Edge
    /// Receives the start.
    let logger: Logger
    /// Called with the port once it is open.
    let onListening: @Sendable (Int) async -> Void

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
        let (drained, drain) = AsyncStream.makeStream(of: Never.self)
        await withGracefulShutdownHandler {
            // Ends with the stream, or when the task is cancelled.
            for await _ in drained {}
        } onGracefulShutdown: {
            let promise = server.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenComplete { _ in drain.finish() }
            quiescing.initiateShutdown(promise: promise)
        }
        server.close(promise: nil)
    }

    private func bind(_ quiescing: ServerQuiescingHelper) async throws -> any Channel {
        let (edge, parserLimits) = (edge, RequestParser.Limits(limits))
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Int32(clamping: limits.connections))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [maximum = limits.connections, logger] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ConnectionLimit(maximum: maximum, logger: logger),
                        quiescing.makeServerChannelHandler(channel: channel))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { edge.initialize($0, limits: parserLimits) }
            .bind(host: address.host, port: address.port).get()
    }
}

/// Stops accepting while a listener has all the connections it may. Further ones wait in the system's backlog.
private final class ConnectionLimit: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private let maximum: Int
    private let logger: Logger
    private var count = 0
    /// True while an accept was wanted and not made.
    private var isHeldBack = false

    init(maximum: Int, logger: Logger) {
        self.maximum = maximum
        self.logger = logger
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
        guard !isHeldBack else { return }
        isHeldBack = true
        logger.warning("Connection limit reached", metadata: ["connections": .stringConvertible(maximum)])
    }

    private func connectionClosed(_ context: ChannelHandlerContext) {
        count -= 1
        guard isHeldBack, count < maximum else { return }
        isHeldBack = false
        context.read()
    }
}
