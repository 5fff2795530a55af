// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import RealServers
import Testing
import TestSupport

/// The load balancer in front of two servers that return their names.
@Suite(.timeLimit(.patient)) struct HAProxyTests {
    @Test func `requests go round robin to ready servers, and to the other one when one ends`() async throws {
        let first = try await Self.server("first"), second = try await Self.server("second")
        let ports = try [first, second].map { try #require($0.localAddress?.port) }
        let balancer = try await RealServer.haproxy(
            before: ports.map { RealServer.Backend(dataPort: $0, adminPort: $0) })
        var names: Set<String> = []
        while names.count < 2 { names.insert(try await Self.ask(balancer.port)) }
        #expect(names == ["first", "second"])
        try await first.close()
        for _ in 0..<10 { #expect(try await Self.ask(balancer.port) == "second") }
        try await second.close()
    }

    private static func server(_ name: String) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(NameServer(name))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    /// Returns the body of an answer.
    private static func ask(_ port: Int) async throws -> String {
        let connection = try await RawConnection(port: port)
        try await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        _ = await connection.ending()
        return String(connection.received.split(separator: "\r\n").last ?? "")
    }
}

private final class NameServer: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let name: String

    init(_ name: String) {
        self.name = name
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let head = HTTPResponseHead(
            version: .http1_1, status: .ok, headers: ["Content-Length": "\(name.utf8.count)", "Connection": "close"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: name)))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}
