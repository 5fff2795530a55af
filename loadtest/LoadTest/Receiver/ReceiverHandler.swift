// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// The handler of one connection of an endpoint. Requests arrive one at a time.
final class ReceiverHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Limits {
        static let bodyBytes = 4 << 20
        /// The bytes and the time after which an endless body ends after all.
        static let endlessBytes = 64 << 20
        static let endlessPause = TimeAmount.milliseconds(20)
        static let endlessPart = 4096
    }

    private let respond: (HTTPRequestHead, [UInt8]?) -> ReceiverResponse
    private var head: HTTPRequestHead?
    /// The body; nil once it exceeds the limit.
    private var body: [UInt8]? = []
    private var timer: Scheduled<Void>?

    /// - Parameter respond: returns the response to a request, whose body is nil if it exceeds the limit.
    init(_ respond: @escaping (HTTPRequestHead, [UInt8]?) -> ReceiverResponse) {
        self.respond = respond
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let part):
            let count = (body?.count ?? Limits.bodyBytes) + part.readableBytes
            body = count <= Limits.bodyBytes ? (body ?? []) + part.readableBytesView : nil
        case .end: if let head { perform(respond(head, body), context) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    /// Closes the connection: the client has gone, or uses no HTTP or TLS.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func perform(_ response: ReceiverResponse, _ context: ChannelHandlerContext) {
        guard case .slow(let delay) = response.fault else { return write(response, context) }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { [self] in
            if context.channel.isActive { write(response, context) }
        }
    }

    private func write(_ response: ReceiverResponse, _ context: ChannelHandlerContext) {
        // A client that has the answer must also find the delivery counted.
        response.beforeAnswer()
        let isKept = (head?.isKeepAlive ?? false) && !response.fault.breaksFraming
        var head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        if let length = response.statedLength { head.headers.add(name: "Content-Length", value: "\(length)") }
        if !isKept { head.headers.add(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        if response.fault == .endless { return continueBody(context, sent: 0) }
        let end = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        guard !isKept else { return }
        end.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    /// Sends one more part of a body that does not end.
    private func continueBody(_ context: ChannelHandlerContext, sent: Int) {
        guard context.channel.isActive, sent < Limits.endlessBytes else { return context.close(promise: nil) }
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: Limits.endlessPart)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(part))), promise: nil)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Limits.endlessPause) { [self] in
            continueBody(context, sent: sent + Limits.endlessPart)
        }
    }
}

struct ReceiverResponse {
    var status = HTTPResponseStatus.ok
    var headers = HTTPHeaders()
    var body: [UInt8] = []
    /// The way in which the answer is late or wrong.
    var fault = ReceiverFault.none
    var beforeAnswer: () -> Void = {}

    /// The value of `Content-Length`; nil for a chunked body.
    var statedLength: Int? {
        switch fault {
        case .short: body.count * 10
        case .long: body.count / 2
        case .endless: nil
        case .none, .down, .slow, .status, .redirect: body.count
        }
    }
}

extension ReceiverResponse {
    /// The response to a delivery that is taken, with the fault of the endpoint.
    init(_ fault: ReceiverFault, take: @escaping () -> Void) {
        (self.fault, beforeAnswer) = (fault, take)
        if fault.breaksFraming { body = Array("received".utf8) }
    }

    /// The response to a delivery at this path that a fault does not let the endpoint take.
    init(refusing path: String, _ fault: ReceiverFault) {
        switch fault {
        case .status(let status, let retryAfter):
            self.status = HTTPResponseStatus(statusCode: status)
            if let retryAfter { headers = ["Retry-After": "\(retryAfter)"] }
        case .redirect: (status, headers) = (.temporaryRedirect, ["Location": path + "/elsewhere"])
        // A request on a connection that is about to be closed.
        default: status = .serviceUnavailable
        }
    }
}

extension ReceiverHandler {
    static func of(_ endpoint: ReceiverEndpoint) -> ReceiverHandler {
        ReceiverHandler { head, body in
            endpoint.respond(to: head, body, at: Int64(Date().timeIntervalSince1970))
        }
    }
}
