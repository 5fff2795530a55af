// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// A server that answers each request without a body as it is told to, on a port of this machine.
struct PlayServer {
    let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    /// The reaction to a request.
    enum Move: Sendable {
        case answer(String)
        case answerAfter(Duration, String)
        case silence
        case close
        /// Bytes, then the end of the connection.
        case answerAndClose(String)
    }

    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Runs the body with a server.
    ///
    /// - Parameter move: for the request with this number, counted from 0 over all connections.
    static func with<Value>(
        _ move: @escaping @Sendable (Int) -> Move, _ body: (PlayServer) async throws -> Value
    ) async throws -> Value {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1), counter = RequestCounter()
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PlayHandler(counter, move))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = PlayServer(port: channel.localAddress?.port ?? 0, channel: channel, group: group)
        do {
            let value = try await body(server)
            try await server.stop()
            return value
        } catch {
            try await server.stop()
            throw error
        }
    }

    private func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }
}

private final class RequestCounter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}

/// Answers in the order of requests.
private final class PlayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let counter: RequestCounter
    private let move: @Sendable (Int) -> PlayServer.Move
    private var received = ByteBuffer()
    private var isBusy = false

    init(_ counter: RequestCounter, _ move: @escaping @Sendable (Int) -> PlayServer.Move) {
        (self.counter, self.move) = (counter, move)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        goOn(context)
    }

    private func goOn(_ context: ChannelHandlerContext) {
        while !isBusy, takeRequest() {
            switch move(counter.next()) {
            case .answer(let text): write(text, context)
            case .answerAfter(let pause, let text):
                isBusy = true
                context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(pause)) { [self] in
                    isBusy = false
                    write(text, context)
                    goOn(context)
                }
            case .silence: isBusy = true
            case .close: return context.close(promise: nil)
            case .answerAndClose(let text):
                write(text, context)
                return context.close(promise: nil)
            }
        }
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    private func takeRequest() -> Bool {
        let bytes = Array(received.readableBytesView)
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        received.moveReaderIndex(forwardBy: end.upperBound)
        return true
    }
}
