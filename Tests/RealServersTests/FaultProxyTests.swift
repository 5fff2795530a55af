// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import Testing

/// The proxy in front of an echo server.
@Suite(.timeLimit(.minutes(5))) struct FaultProxyTests {
    @Test func `without toxics everything passes, both ways and at once`() async throws {
        try await withEcho { proxy in
            let speaker = try await Speaker(port: proxy.port)
            let text = String(repeating: "0123456789", count: 300_000)
            try await speaker.say(text)
            #expect(try await speaker.hear(text.utf8.count) == text)
            #expect(try await proxy.accepted == 1)
        }
    }

    @Test func `a stalled direction delays everything, and delivers it in order afterwards`() async throws {
        for direction in [Toxics.Direction.questions, .answers] {
            try await withEcho { proxy in
                let speaker = try await Speaker(port: proxy.port)
                try await speaker.say("before ")
                #expect(try await speaker.hear(7) == "before ")
                try await proxy.set(.stall([direction]))
                try await speaker.say("one ")
                try await speaker.say("two")
                // A second connection is stalled too.
                let other = try await Speaker(port: proxy.port)
                try await other.say("three")
                #expect(await other.hearsNothing(for: .milliseconds(100)))
                #expect(speaker.heard.isEmpty)
                try await proxy.heal()
                #expect(try await speaker.hear(7) == "one two")
                #expect(try await other.hear(5) == "three")
            }
        }
    }

    @Test func `latency delays each piece and keeps their order`() async throws {
        try await withEcho { proxy in
            try await proxy.set(.latency(.milliseconds(60)))
            let speaker = try await Speaker(port: proxy.port)
            let start = ContinuousClock.now
            for word in ["a", "b", "c"] { try await speaker.say(word) }
            #expect(try await speaker.hear(3) == "abc")
            #expect(ContinuousClock.now - start >= .milliseconds(120))
        }
    }

    @Test func `slices come one after another and lose nothing`() async throws {
        try await withEcho { proxy in
            try await proxy.set(.slice(1))
            let speaker = try await Speaker(port: proxy.port)
            try await speaker.say("in small pieces")
            #expect(try await speaker.hear(15) == "in small pieces")
        }
    }

    @Test(arguments: [Toxics.Ending.truncation, .reset])
    func `a connection ends after so many bytes of answers, the next one too`(ending: Toxics.Ending) async throws {
        try await withEcho { proxy in
            let early = try await Speaker(port: proxy.port)
            try await early.say("12345678")
            #expect(try await early.hear(8) == "12345678")
            try await proxy.set(.end(ending, afterAnswerBytes: 4))
            for speaker in [early, try await Speaker(port: proxy.port)] {
                try await speaker.say("12345678")
                #expect(await speaker.hearsTheEnd() == ending)
                // RST may overtake bytes sent before it.
                #expect(ending == .reset ? speaker.heard.count <= 4 : speaker.heard == "1234")
            }
        }
    }

    @Test func `refuse ends open connections, and heal accepts again at the same port`() async throws {
        try await withEcho { proxy in
            let speaker = try await Speaker(port: proxy.port)
            try await speaker.say("a")
            #expect(try await speaker.hear(1) == "a")
            try await proxy.refuse()
            #expect(await speaker.hearsTheEnd() == .reset)
            #expect(!Loopback.accepts(proxy.port))
            try await proxy.heal()
            let next = try await Speaker(port: proxy.port)
            try await next.say("b")
            #expect(try await next.hear(1) == "b")
        }
    }

    @Test func `without a server connections are closed at once`() async throws {
        let proxy = try await FaultProxy(to: try Loopback.freePort())
        let speaker = try await Speaker(port: proxy.port)
        #expect(await speaker.hearsTheEnd() == .truncation)
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
