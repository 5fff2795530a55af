// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1

/// A request, and who waits for its answer.
struct Exchange: Sendable {
    let request: PreparedRequest
    let reply: EventLoopPromise<Reply>
}

/// Sends one request at a time and collects its answer.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    private let limits: DriveLimits
    private var reply: EventLoopPromise<Reply>?
    private var head: HTTPResponseHead?
    private var body = ByteBuffer()
    private var deadline: Scheduled<Void>?

    init(limits: DriveLimits) {
        self.limits = limits
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        (reply, head, body) = (exchange.reply, nil, ByteBuffer())
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.maximumWait)) { [self] in
            fail(.timeout, context)
        }
        context.write(wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        if exchange.request.body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(exchange.request.body))), promise: nil)
        }
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(var part): collect(&part, context)
        case .end: finish(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.connectionEnded, context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(.connectionEnded, context)
    }

    private func collect(_ part: inout ByteBuffer, _ context: ChannelHandlerContext) {
        guard body.readableBytes + part.readableBytes <= limits.maximumAnswerBytes else {
            return fail(.answerTooLarge, context)
        }
        body.writeBuffer(&part)
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let head, let reply else { return }
        end()
        if !head.isKeepAlive { context.close(promise: nil) }
        reply.succeed(Reply(status: Int(head.status.code), body: body))
    }

    private func fail(_ error: DriveError, _ context: ChannelHandlerContext) {
        let reply = reply
        end()
        context.close(promise: nil)
        reply?.fail(error)
    }

    private func end() {
        deadline?.cancel()
        (deadline, reply) = (nil, nil)
    }
}
