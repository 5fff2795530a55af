// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server on a free local port that gives every request the same answer, and records the requests.
final class OneAnswerServer: Sendable {
    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8] = []
    }

    let url: String
    private let channel: any Channel
    private let journal: Journal

    private init(_ channel: any Channel, _ journal: Journal) {
        (self.channel, self.journal) = (channel, journal)
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/verifyReceipt"
    }

    /// Runs a server during `body`.
    static func run<Value: Sendable>(
        status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:], body: String,
        _ use: (OneAnswerServer) async throws -> Value
    ) async throws -> Value {
        let journal = Journal()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(status, headers, body, journal))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await use(OneAnswerServer(channel, journal)))
        } catch {
            outcome = .failure(error)
        }
        try await channel.close()
        return try outcome.get()
    }

    /// The requests so far.
    var requests: [Request] { journal.requests.withLock { $0 } }
}

private final class Journal: Sendable {
    let requests = Mutex<[OneAnswerServer.Request]>([])
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let status: HTTPResponseStatus
    private let headers: HTTPHeaders
    private let body: String
    private let journal: Journal
    private var request: OneAnswerServer.Request?

    init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: String, _ journal: Journal) {
        (self.status, self.headers, self.body, self.journal) = (status, headers, body, journal)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = OneAnswerServer.Request(head: head)
        case .body(let bytes): request?.body += Array(bytes.readableBytesView)
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        if let request { journal.requests.withLock { $0.append(request) } }
        var headers = headers
        headers.replaceOrAdd(name: "Content-Length", value: String(body.utf8.count))
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
