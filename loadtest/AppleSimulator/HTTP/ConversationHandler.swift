// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The handler of one connection: collects each request, and performs the simulator's decision about it.
///
/// Requests arrive one at a time: `HTTPServerPipelineHandler` delays the next until the answer has ended.
final class ConversationHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let responder: RequestResponder
    private var head: HTTPRequestHead?
    /// The body; nil once it exceeds the limit.
    private var body: ByteBuffer? = ByteBuffer()
    private var timer: Scheduled<Void>?
    /// True while a call is counted as in flight.
    private var isInFlight = false

    init(responder: RequestResponder) {
        self.responder = responder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            (self.head, body) = (head, ByteBuffer())
            if head.headers[canonicalForm: "expect"].contains("100-continue") {
                context.writeAndFlush(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
            }
        case .body(var part): collect(&part)
        case .end: respond(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        endCall()
        context.fireChannelInactive()
    }

    /// Closes the connection. The client has gone, or does not use HTTP or TLS.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func collect(_ part: inout ByteBuffer) {
        guard let byteCount = body?.readableBytes else { return }
        guard byteCount + part.readableBytes <= responder.store.limits.maximumRequestBytes else { return body = nil }
        body?.writeBuffer(&part)
    }

    private func respond(_ context: ChannelHandlerContext) {
        guard let head else { return }
        switch responder.respond(to: head, body) {
        case .control(let answer): write(answer, context)
        case .planned(let response):
            isInFlight = true
            after(response.latency, context) { handler, context in handler.perform(response.reply, context) }
        }
    }

    private func perform(_ reply: PlannedResponse.Reply, _ context: ChannelHandlerContext) {
        switch reply {
        case .answer(let answer): write(answer, context)
        case .slowly(let answer, let rate): begin(answer, context, bytesPerSecond: rate)
        case .halfAnswer(let answer): writeHalf(answer, context)
        case .reset: reset(context)
        case .silence:
            after(responder.store.limits.maximumWait, context) { handler, context in handler.reset(context) }
        }
    }

    private func endCall() {
        guard isInFlight else { return }
        isInFlight = false
        responder.store.stats.end()
    }

    /// Runs `body` after a delay, or at once without a delay; not if the connection closes before.
    private func after(
        _ delay: Duration, _ context: ChannelHandlerContext,
        _ body: @escaping (ConversationHandler, ChannelHandlerContext) -> Void
    ) {
        guard delay > .zero else { return body(self, context) }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { [self] in
            guard context.channel.isActive else { return }
            body(self, context)
        }
    }
}

extension ConversationHandler {
    private func write(_ answer: StoreAnswer, _ context: ChannelHandlerContext) {
        writeHead(of: answer, context)
        context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
        finish(context)
    }

    private func writeHead(of answer: StoreAnswer, _ context: ChannelHandlerContext) {
        let head = answer.head(keepAlive: isKeptAlive, at: responder.store.serverNow)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func finish(_ context: ChannelHandlerContext) {
        // A client that has the answer must also find it counted.
        endCall()
        let end = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        guard !isKeptAlive else { return }
        end.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    private var isKeptAlive: Bool { head?.isKeepAlive ?? false }

    private func begin(_ answer: StoreAnswer, _ context: ChannelHandlerContext, bytesPerSecond rate: Int) {
        writeHead(of: answer, context)
        context.flush()
        trickle(answer.body, context, bytesPerSecond: rate)
    }

    /// Sends twenty parts a second, or one byte at a time if the rate is lower.
    private func trickle(_ rest: ByteBuffer, _ context: ChannelHandlerContext, bytesPerSecond rate: Int) {
        var rest = rest
        guard let drop = rest.readSlice(length: min(rest.readableBytes, max(1, rate / 20))), drop.readableBytes > 0
        else { return finish(context) }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(drop))), promise: nil)
        after(.seconds(Double(drop.readableBytes) / Double(rate)), context) { handler, context in
            handler.trickle(rest, context, bytesPerSecond: rate)
        }
    }

    private func writeHalf(_ answer: StoreAnswer, _ context: ChannelHandlerContext) {
        writeHead(of: answer, context)
        var body = answer.body
        let half = body.readSlice(length: body.readableBytes / 2) ?? ByteBuffer()
        let written = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(half))))
        written.assumeIsolated().whenComplete { _ in self.reset(context) }
    }

    /// Closes with RST in place of FIN (RFC 9293 §3.10.7): lingering for no time drops unsent data.
    private func reset(_ context: ChannelHandlerContext) {
        endCall()
        let socket = context.channel as? any SocketOptionProvider
        let isSet = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        // TLS would send a closing alert; a reset does not.
        guard let isSet else { return context.channel.close(promise: nil) }
        isSet.assumeIsolated().whenComplete { _ in context.pipeline.close(mode: .all, promise: nil) }
    }
}
