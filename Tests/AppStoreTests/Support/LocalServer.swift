// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server on a free local port that answers by a script, and records the requests.
final class LocalServer: Sendable {
    struct Request: Sendable {
        var head: HTTPRequestHead
        var body: [UInt8] = []

        /// The value of a field; nil if there is none.
        func value(of name: String) -> String? { head.headers.first(name: name) }
    }

    struct Answer: Sendable {
        var status: HTTPResponseStatus = .ok
        var headers: HTTPHeaders = [:]
        var body = ""
    }

    /// Returns the answer to a request; nil closes the connection.
    typealias Script = @Sendable (Request) -> Answer?

    /// The URL of the server, without a path.
    let url: String
    private let channel: any Channel
    private let journal: Journal

    private init(_ channel: any Channel, _ journal: Journal) {
        (self.channel, self.journal) = (channel, journal)
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// Runs a server during `use`.
    static func run<Value: Sendable>(
        _ script: @escaping Script, _ use: (LocalServer) async throws -> Value
    ) async throws -> Value {
        let journal = Journal()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(script, journal))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await use(LocalServer(channel, journal)))
        } catch {
            outcome = .failure(error)
        }
        try await channel.close()
        return try outcome.get()
    }

    /// Runs a server that gives every request the same answer.
    static func run<Value: Sendable>(
        status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:], body: String,
        _ use: (LocalServer) async throws -> Value
    ) async throws -> Value {
        try await run({ _ in Answer(status: status, headers: headers, body: body) }, use)
    }

    /// Returns a script that gives these answers in order, and then the last one again and again.
    static func inOrder(_ answers: Answer?...) -> Script {
        let next = Atomic(0)
        return { _ in answers[min(next.add(1, ordering: .relaxed).oldValue, answers.count - 1)] }
    }

    /// The requests so far.
    var requests: [Request] { journal.requests.withLock { $0 } }
}

private final class Journal: Sendable {
    let requests = Mutex<[LocalServer.Request]>([])
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let script: LocalServer.Script
    private let journal: Journal
    private var request: LocalServer.Request?

    init(_ script: @escaping LocalServer.Script, _ journal: Journal) {
        (self.script, self.journal) = (script, journal)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = LocalServer.Request(head: head)
        case .body(let bytes): request?.body += Array(bytes.readableBytesView)
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let request else { return }
        journal.requests.withLock { $0.append(request) }
        guard let answer = script(request) else { return context.close(promise: nil) }
        var headers = answer.headers
        headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.utf8.count))
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
