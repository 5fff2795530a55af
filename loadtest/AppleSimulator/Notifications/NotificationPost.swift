// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One POST over a connection of its own.
struct NotificationPost: Sendable {
    let url: NotificationURL
    let body: ByteBuffer
    let timeout: Duration

    /// Sends the request, and returns the result of the attempt. The future never fails.
    func send(on loop: any EventLoop) -> EventLoopFuture<SendAttemptResult> {
        let result = loop.makePromise(of: SendAttemptResult.self)
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(timeout))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(NotificationPostHandler(self, result))
                }
            }
            .connect(host: url.host, port: url.port)
            .whenFailure { _ in result.succeed(.socketIssue) }
        return result.futureResult
    }

    fileprivate var head: HTTPRequestHead {
        var fields = HTTPHeaders()
        fields.add(name: "Host", value: url.authority)
        fields.add(name: "Content-Type", value: "application/json")
        fields.add(name: "Content-Length", value: String(body.readableBytes))
        fields.add(name: "User-Agent", value: "Simulated App Store")
        fields.add(name: "Connection", value: "close")
        return HTTPRequestHead(version: .http1_1, method: .POST, uri: url.target, headers: fields)
    }
}

/// The handler of one attempt: sends the request, and waits for the end of the response.
private final class NotificationPostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let post: NotificationPost
    /// Nil once it is completed.
    private var result: EventLoopPromise<SendAttemptResult>?
    private var status: Int?
    private var timer: Scheduled<Void>?

    init(_ post: NotificationPost, _ result: EventLoopPromise<SendAttemptResult>) {
        self.post = post
        self.result = result
    }

    func channelActive(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(post.timeout)) { [self] in
            finish(.timedOut, context)
        }
        context.write(wrapOutboundOut(.head(post.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(post.body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body: break
        case .end: finish(status.map(SendAttemptResult.init(status:)) ?? .noResponse, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.invalidEOFState: finish(closeResult, context)
        case is HTTPParserError: finish(.invalidResponse, context)
        default: finish(.socketIssue, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(closeResult, context)
    }

    /// The result of a connection that closed before the end of the response.
    private var closeResult: SendAttemptResult { status == nil ? .noResponse : .prematureClose }

    private func finish(_ outcome: SendAttemptResult, _ context: ChannelHandlerContext) {
        guard let result else { return }
        self.result = nil
        timer?.cancel()
        result.succeed(outcome)
        context.close(promise: nil)
    }
}
