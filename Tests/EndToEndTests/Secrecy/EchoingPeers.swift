// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server that repeats its input in every part of an answer.
final class EchoingPeer: Sendable {
    let port: Int
    private let listener: any Channel

    private init(_ listener: any Channel) {
        (self.listener, port) = (listener, listener.localAddress?.port ?? 0)
    }

    /// Starts a server in place of Apple.
    static func apple() async throws -> EchoingPeer {
        let counter = Counter()
        return try await listen { channel in
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(EchoingApple(counter: counter))
        }
    }

    /// Starts a server in place of Redis.
    static func redis() async throws -> EchoingPeer {
        let counter = Counter()
        return try await listen { try $0.pipeline.syncOperations.addHandler(EchoingRedis(counter: counter)) }
    }

    private static func listen(_ initialize: @escaping @Sendable (any Channel) throws -> Void) async throws
        -> EchoingPeer
    {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try initialize(channel) } }
        return EchoingPeer(try await bootstrap.bind(host: "127.0.0.1", port: 0).get())
    }

    func close() async throws { try await listener.close() }
}

/// A counter, so that every kind of answer occurs.
final class Counter: Sendable {
    private let count = Atomic(0)

    var next: Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
}

private final class EchoingApple: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let counter: Counter
    private var body = ByteBuffer()

    init(counter: Counter) { self.counter = counter }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: body.clear()
        case .body(let part): body.writeImmutableBuffer(part)
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let sent = String(buffer: body)
        let question = try? JSONSerialization.jsonObject(with: Data(sent.utf8)) as? [String: Any]
        let password = question?["password"] as? String ?? "no password at all"
        let receipt = question?["receipt-data"] as? String ?? ""
        let (status, fields, text) = Self.answer(counter.next, sent, password, receipt)
        var headers = HTTPHeaders([("Content-Type", "application/json"), ("Content-Length", "\(text.utf8.count)")])
        headers.add(contentsOf: fields.map { ($0.key, $0.value) })
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private static func answer(
        _ turn: Int, _ sent: String, _ password: String, _ receipt: String
    ) -> (HTTPResponseStatus, [String: String], String) {
        let middle = String(receipt.dropFirst(500).prefix(64)), key = "x-apple-jingle-correlation-key"
        return switch turn % 14 {
        case 0: (.ok, [:], #"{"status":21199,"exception":"\#(password)","environment":"\#(password)"}"#)
        case 1: (.ok, [key: password], #"{"status":21199,"exception":"com.apple.Oops: \#(middle)"}"#)
        case 2: (.ok, [key: middle], #"{"status":21002,"exception":"\#(password.dropFirst(3)) is wrong"}"#)
        case 3: (.internalServerError, [key: "x\(password)"], sent)
        case 4: (.tooManyRequests, ["Retry-After": password], sent)
        case 5: (.ok, [:], "<html>\(sent)</html>")
        case 6: (.ok, [:], #"{"status":"\#(password)","\#(password)":"\#(receipt)"}"#)
        case 7: (.ok, [:], #"{"status":0,"environment":"\#(password)","receipt":{"bundle_id":"\#(password)"}}"#)
        case 8: (.movedPermanently, ["Location": "https://\(password)/"], sent)
        case 9:
            (
                .ok, ["Sunset": password, "Deprecation": password, "Link": "<\(password)>; rel=sunset"],
                #"{"status":21005}"#
            )
        case 10: (.ok, [:], #"{"status":0,"receipt":"\#(receipt)","latest_receipt":"\#(password)"}"#)
        case 11: (.ok, ["Content-Encoding": password], sent)
        case 12: (.badRequest, [key: "\(password).\(middle)"], "{\"\(password)")
        default: (.ok, [password: password], #"{"status":21004,"exception":"\#(password)\#(receipt)"}"#)
        }
    }
}

private final class EchoingRedis: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let counter: Counter

    init(counter: Counter) { self.counter = counter }

    /// Answers each piece with an error that repeats it on one line.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let words = String(buffer: unwrapInboundIn(data)).split(whereSeparator: \.isNewline).map(String.init)
        let sent = words.filter { !$0.hasPrefix("$") && !$0.hasPrefix("*") }.joined(separator: " ")
        let secret = sent.split(separator: " ").dropFirst().first { $0.count > 16 } ?? ""
        let line =
            switch counter.next % 6 {
            case 0: "WRONGPASS \(sent)"
            case 1: "ERR unknown command `AUTH`, with args beginning with: \(sent)"
            case 2: "\(secret)"
            case 3: "NOAUTH you sent \(secret)"
            case 4: "NOPERM \(String(repeating: "x", count: 170)) \(secret)"
            default: "LOADING \(secret) \(sent)"
            }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "-\(line)\r\n")), promise: nil)
    }
}
