// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The measure of the gateway in `bench`: a server that verifies nothing.
struct CeilingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ceiling",
        abstract: "Answer every request with the same bytes: the ceiling for any server on SwiftNIO.",
        discussion: """
            Listens on 127.0.0.1 until it is stopped, and reads the whole body of each request before answering it, in \
            a bare channel handler behind SwiftNIO's HTTP decoder, on one event loop.
            """,
        shouldDisplay: false)

    @Option(help: .value("port", "Port of 127.0.0.1."))
    var port = 8090

    @Option(help: .value("bytes", "Size of the answers, in bytes."))
    var bytes = 3000

    func validate() throws {
        try check("--port", port, in: 0...65_535)
        try check("--bytes", bytes, in: 0...1 << 20)
    }

    func run() async throws {
        // A JSON string of the requested size.
        let answer = ByteBuffer(string: "\"" + String(repeating: "a", count: max(0, bytes - 2)) + "\"")
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(
                        withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false)
                    try pipeline.addHandler(SameAnswer(answer))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }
}

private final class SameAnswer: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: ByteBuffer
    private let head: HTTPResponseHead

    init(_ answer: ByteBuffer) {
        self.answer = answer
        head = HTTPResponseHead(
            version: .http1_1, status: .ok,
            headers: ["Content-Type": "application/json", "Content-Length": "\(answer.readableBytes)"])
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(answer))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
