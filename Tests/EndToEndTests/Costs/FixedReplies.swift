// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server in Apple's place, which answers every request with the same bytes and closes the connection.
final class FixedReplies: Sendable {
    private struct State {
        var reply = ByteBuffer()
        var count = 0
    }

    private let state = Mutex(State())
    private let listener = Mutex<(any Channel)?>(nil)

    /// The bytes that are sent from now on.
    var reply: ByteBuffer {
        get { state.withLock(\.reply) }
        set { state.withLock { $0.reply = newValue } }
    }

    /// The number of replies so far.
    var count: Int { state.withLock(\.count) }

    var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }

    static func listen() async throws -> FixedReplies {
        let server = FixedReplies()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        ByteToMessageHandler(HTTPRequestDecoder()), FixedReplyHandler(server),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.listener.withLock { $0 = channel }
        return server
    }

    func close() async throws { try await listener.withLock { $0 }?.close() }

    fileprivate func next() -> ByteBuffer {
        state.withLock { state in
            state.count += 1
            return state.reply
        }
    }
}

private final class FixedReplyHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private let server: FixedReplies

    init(_ server: FixedReplies) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        context.writeAndFlush(wrapOutboundOut(server.next()), promise: nil)
        context.close(promise: nil)
    }
}
