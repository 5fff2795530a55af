// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// A local server that receives webhooks, and answers each with the same status.
final class WebhookReceiver: Sendable {
    /// A webhook as it arrived.
    struct Received: Sendable {
        let requestLine: String
        /// By name in lower case.
        let headers: [String: String]
        let body: [UInt8]
    }

    private let webhooks = Mutex<[Received]>([])
    private let status: Mutex<Int?>
    fileprivate let answerBody: String
    private let onReceived: @Sendable () -> Void

    /// - Parameters:
    ///   - status: the status of answers; nil for no answer.
    ///   - answerBody: the body of answers.
    ///   - onReceived: called before each answer.
    init(status: Int? = 200, answerBody: String = "", onReceived: @escaping @Sendable () -> Void = {}) {
        self.status = Mutex(status)
        (self.answerBody, self.onReceived) = (answerBody, onReceived)
    }

    var received: [Received] { webhooks.withLock { $0 } }

    func answer(_ status: Int) { self.status.withLock { $0 = status } }

    fileprivate func take(_ webhook: Received) -> Int? {
        let status = status.withLock { $0 }
        webhooks.withLock { $0.append(webhook) }
        onReceived()
        return status
    }

    /// Runs the server during `body`.
    func run(
        isolation: isolated (any Actor)? = #isolation, _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(WebhookHandler(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(listener.localAddress?.port ?? 0)) } catch { outcome = .failure(error) }
        try await listener.close()
        try outcome.get()
    }
}

private final class WebhookHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let receiver: WebhookReceiver
    private var buffer = ByteBuffer()

    init(_ receiver: WebhookReceiver) {
        self.receiver = receiver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        buffer.writeImmutableBuffer(unwrapInboundIn(data))
        while let webhook = WebhookReceiver.Received(takingFrom: &buffer) {
            guard let status = receiver.take(webhook) else { continue }
            let body = receiver.answerBody
            let answer = "HTTP/1.1 \(status) Reason\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension WebhookReceiver.Received {
    /// Takes the first complete request; nil if there is none yet.
    fileprivate init?(takingFrom buffer: inout ByteBuffer) {
        let bytes = buffer.readableBytesView
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n").map(String.init)
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), String((parts.dropFirst().first ?? "").drop { $0 == " " }))
        }
        let headers = Dictionary(fields) { first, _ in first }
        guard let length = Int(headers["content-length"] ?? "0"), bytes[end.upperBound...].count >= length else {
            return nil
        }
        let body = Array(bytes[end.upperBound...].prefix(length))
        buffer.moveReaderIndex(to: end.upperBound + length)
        self.init(requestLine: lines[0], headers: headers, body: body)
    }
}
