// SPDX-License-Identifier: Apache-2.0

import LoopbackPorts
import NIOCore
import NIOPosix
import RealServers
import Testing
import TestSupport

/// The proxy in front of an echo server.
@Suite(.timeLimit(.patient)) struct FaultProxyTests {
    @Test func `without faults everything passes, both ways and at once`() async throws {
        try await withEcho { proxy in
            let connection = try await RawConnection(port: proxy.port)
            let text = String(repeating: "0123456789", count: 300_000)
            try await connection.send(text)
            #expect(await connection.receive(text.utf8.count) == text)
            #expect(try await proxy.accepted == 1)
        }
    }

    @Test func `a stalled direction delays everything, and delivers it in order afterwards`() async throws {
        for direction in [ProxyFaults.Direction.requests, .answers] {
            try await withEcho { proxy in
                let connection = try await RawConnection(port: proxy.port)
                try await connection.send("before ")
                #expect(await connection.receive(7) == "before ")
                try await proxy.set(.stall([direction]))
                try await connection.send("one ")
                try await connection.send("two")
                // A second connection is stalled too.
                let other = try await RawConnection(port: proxy.port)
                try await other.send("three")
                #expect(await other.receivesNothing(for: .milliseconds(100)))
                #expect(connection.received.isEmpty)
                try await proxy.heal()
                #expect(await connection.receive(7) == "one two")
                #expect(await other.receive(5) == "three")
            }
        }
    }

    @Test func `latency delays each piece and keeps their order`() async throws {
        try await withEcho { proxy in
            try await proxy.set(.latency(.milliseconds(60)))
            let connection = try await RawConnection(port: proxy.port)
            let start = ContinuousClock.now
            for word in ["a", "b", "c"] { try await connection.send(word) }
            #expect(await connection.receive(3) == "abc")
            #expect(ContinuousClock.now - start >= .milliseconds(120))
        }
    }

    @Test func `slices come one after another and lose nothing`() async throws {
        try await withEcho { proxy in
            try await proxy.set(.slice(1))
            let connection = try await RawConnection(port: proxy.port)
            try await connection.send("in small pieces")
            #expect(await connection.receive(15) == "in small pieces")
        }
    }

    @Test(arguments: [ProxyFaults.Ending.truncation, .reset])
    func `a connection ends after so many bytes of answers, the next one too`(ending: ProxyFaults.Ending) async throws {
        try await withEcho { proxy in
            let early = try await RawConnection(port: proxy.port)
            try await early.send("12345678")
            #expect(await early.receive(8) == "12345678")
            try await proxy.set(.end(ending, afterAnswerBytes: 4))
            for connection in [early, try await RawConnection(port: proxy.port)] {
                try await connection.send("12345678")
                #expect(await connection.ending() == ending)
                // RST may overtake bytes sent before it.
                #expect(ending == .reset ? connection.received.count <= 4 : connection.received == "1234")
            }
        }
    }

    @Test func `refuse ends open connections, and heal accepts again at the same port`() async throws {
        try await withEcho { proxy in
            let connection = try await RawConnection(port: proxy.port)
            try await connection.send("a")
            #expect(await connection.receive(1) == "a")
            try await proxy.refuse()
            #expect(await connection.ending() == .reset)
            #expect(!LoopbackPort.accepts(proxy.port))
            try await proxy.heal()
            let next = try await RawConnection(port: proxy.port)
            try await next.send("b")
            #expect(await next.receive(1) == "b")
        }
    }

    @Test func `without a server connections are closed at once`() async throws {
        let absent = try ReservedPort(), proxy = try await FaultProxy(to: absent.number)
        let connection = try await RawConnection(port: proxy.port)
        #expect(await connection.ending() == .truncation)
        try await proxy.close()
    }

    private func withEcho(_ test: (FaultProxy) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = try await FaultProxy(to: try #require(server.localAddress?.port))
        try await test(proxy)
        try await proxy.close()
        try await server.close()
    }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
