// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The upper bound of a server that verifies nothing: the measure of the gateway.
@main
struct Ceilings: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt-ceilings",
        abstract: "Answer every request with the same bytes: the ceiling for any server on SwiftNIO.",
        discussion: """
            Listens on 127.0.0.1 until it is stopped, and reads the whole body of each request before answering it.
            """,
        subcommands: [BareNIO.self])
}

struct CeilingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Port of 127.0.0.1.", valueName: "port"))
    var port = 8090

    @Option(help: ArgumentHelp("Size of the answers, in bytes.", valueName: "bytes"))
    var bytes = 3000

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535.") }
        guard (0...1 << 20).contains(bytes) else { throw ValidationError("--bytes must be from 0 to 1048576.") }
    }

    /// A JSON string of the requested size.
    var answer: String { "\"" + String(repeating: "a", count: max(0, bytes - 2)) + "\"" }
}

/// A bare channel handler behind SwiftNIO's HTTP decoder.
struct BareNIO: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nio", abstract: "Answer from a bare SwiftNIO handler, on one event loop.")

    @OptionGroup var options: CeilingOptions

    func run() async throws {
        let answer = ByteBuffer(string: options.answer)
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
            .bind(host: "127.0.0.1", port: options.port).get()
        try await channel.closeFuture.get()
    }
}

/// Answers each request, once it is complete, with the same bytes.
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
