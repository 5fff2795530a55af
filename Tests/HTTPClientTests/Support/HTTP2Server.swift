// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHPACK
import NIOHTTP2

/// The behaviour of an HTTP/2 server for each stream.
enum StreamScript: Sendable {
    /// Answer 200 with the request's body when the gate is open.
    case echo(after: Gate)
    /// Reject the stream (RST_STREAM, RFC 9113 §6.4).
    case reset
    /// Do nothing.
    case hold
}

/// Handles one HTTP/2 stream: collects the request, then runs its script.
final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let script: @Sendable (_ path: String) -> StreamScript
    private let record: Record
    private var path = ""
    private var body = ByteBuffer()

    init(_ script: @escaping @Sendable (_ path: String) -> StreamScript, _ record: Record) {
        (self.script, self.record) = (script, record)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            path = headers.headers.first(name: ":path") ?? ""
            if headers.endStream { carryOut(context) }
        case .data(let data):
            if case .byteBuffer(let bytes) = data.data { body.writeImmutableBuffer(bytes) }
            if data.endStream { carryOut(context) }
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamClosed { record.add(.streamReset) }
        context.close(promise: nil)
    }

    private func carryOut(_ context: ChannelHandlerContext) {
        record.add(.request)
        switch script(path) {
        case .hold: break
        case .reset: context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        case .echo(let gate):
            let (loop, bound) = (context.eventLoop, NIOLoopBound((self, context), eventLoop: context.eventLoop))
            gate.whenOpen { loop.execute { bound.value.0.answer(bound.value.1) } }
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let headers = HPACKHeaders([(":status", "200"), ("link", "a"), ("link", "b")])
        context.write(wrapOutboundOut(.headers(.init(headers: headers))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.data(.init(data: .byteBuffer(body), endStream: true))), promise: nil)
    }
}
