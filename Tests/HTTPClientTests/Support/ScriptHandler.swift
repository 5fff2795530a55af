// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A request as the server received it.
struct ReceivedRequest: Sendable {
    /// `POST /path HTTP/1.1`.
    let requestLine: String
    /// Field lines, in order.
    let headerLines: [String]
    let body: [UInt8]

    /// The value of a field; nil if there is none.
    func value(of name: String) -> String? {
        let line = headerLines.first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }

    /// Removes the first complete request from a buffer; one without `Content-Length` has no body.
    static func take(from buffer: inout ByteBuffer) -> ReceivedRequest? {
        let bytes = buffer.readableBytesView
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n").map(String.init)
        let head = ReceivedRequest(requestLine: lines[0], headerLines: Array(lines.dropFirst()), body: [])
        let length = Int(head.value(of: "Content-Length") ?? "0") ?? 0
        let rest = bytes[end.upperBound...]
        guard rest.count >= length else { return nil }
        buffer.moveReaderIndex(to: end.upperBound + length)
        return ReceivedRequest(
            requestLine: head.requestLine, headerLines: head.headerLines, body: Array(rest.prefix(length)))
    }
}

/// Records the start and end of a connection.
final class ConnectionRecorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let record: Record

    init(_ record: Record) {
        self.record = record
    }

    func channelActive(context: ChannelHandlerContext) {
        record.add(.accepted)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        record.add(.closed)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let alpn)? = event as? TLSUserEvent {
            record.add(.handshake(alpn: alpn))
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Runs a script on one connection.
final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let script: ScriptedServer.Script
    private let record: Record
    private var received = ByteBuffer()
    private var steps: ArraySlice<ScriptedServer.Step> = []
    private var isWaiting = false

    init(_ script: @escaping ScriptedServer.Script, _ record: Record) {
        (self.script, self.record) = (script, record)
    }

    func channelInactive(context: ChannelHandlerContext) {
        steps = []
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        goOn(context)
    }

    private func goOn(_ context: ChannelHandlerContext) {
        while !isWaiting {
            if let step = steps.popFirst() {
                perform(step, context)
            } else if let request = ReceivedRequest.take(from: &received) {
                record.add(.request)
                steps = script(request)[...]
            } else {
                return
            }
        }
    }

    private func perform(_ step: ScriptedServer.Step, _ context: ChannelHandlerContext) {
        switch step {
        case .send(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .hold: isWaiting = true
        case .close: end(context)
        case .reset:
            isWaiting = true
            let options = context.channel as? any SocketOptionProvider
            options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in self.end(context)
            }
        case .wait(let gate):
            isWaiting = true
            let (loop, handler) = (context.eventLoop, NIOLoopBound((self, context), eventLoop: context.eventLoop))
            gate.whenOpen { loop.execute { handler.value.0.wake(handler.value.1) } }
        }
    }

    private func wake(_ context: ChannelHandlerContext) {
        isWaiting = false
        goOn(context)
    }

    private func end(_ context: ChannelHandlerContext) {
        isWaiting = true
        context.close(promise: nil)
    }
}
