// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Redis
import Synchronization
import Testing
import TestSupport

@Suite(.timeLimit(.patient))
struct HostileServerTests {
    @Test(arguments: [
        "*100000000\r\n", "$1000000000\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "%1\r\n+a\r\n+b\r\n",
        "$5\r\nhelloworld",
    ])
    func `a reply that breaks the protocol or the limits ends the connection at once`(_ reply: String) async throws {
        try await HostileServer.with([.answer(reply)]) { address in
            try await TestNode.with(address) { test in
                #expect(
                    await test.node.send([RedisCommand("GET", key: "a"), RedisCommand("GET", key: "b")]).last
                        == .failure(.protocolViolation))
                try await test.log.wait(for: .disconnected(.commands, .protocolViolation))
                try await test.log.wait(for: .connected(.commands), count: 2)
            }
        }
    }

    @Test func `one reply too many is dropped and ends the connection`() async throws {
        try await HostileServer.with([.answer(":1\r\n:2\r\n")]) { address in
            try await TestNode.with(address) { test in
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.success(.integer(1))])
                try await test.log.wait(for: .disconnected(.commands, .protocolViolation))
            }
        }
    }

    @Test func `a truncated reply is not delivered`() async throws {
        try await HostileServer.with([.answerAndClose("$5\r\nhel")]) { address in
            try await TestNode.with(address) { test in
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.failure(.connectionLost)])
            }
        }
    }

    @Test func `a slow reply fails at the deadline`() async throws {
        try await HostileServer.with([.answer("$5\r\nhel")]) { address in
            // It passes.
            try await TestNode.with(address, { $0.commandDeadline = .milliseconds(50) }) { test in
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.failure(.timeout)])
                try await test.log.wait(for: .disconnected(.commands, .stalled))
            }
        }
    }

    @Test func `a late reply is dropped, and the next command gets its own`() async throws {
        try await HostileServer.with([.answer(""), .answer(":1\r\n:2\r\n")]) { address in
            try await TestNode.with(address, { $0.commandDeadline = Patience.forLimit }) { test in
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.failure(.timeout)])
                #expect(await test.node.send([RedisCommand("GET", key: "b")]) == [.success(.integer(2))])
                #expect(test.node.health == .connected(1))
            }
        }
    }

    @Test func `commands do not wait for a server that accepts and sends nothing`() async throws {
        try await HostileServer.with([], greets: false) { address in
            // It passes.
            try await TestNode.with(address, waits: false, { $0.connectDeadline = .milliseconds(50) }) { test in
                #expect(await test.node.send([RedisCommand("GET", key: "a")]) == [.failure(.notConnected)])
                try await test.log.wait(for: .connectFailed(.commands, .stalled), count: 2)
                #expect(test.node.health == .disconnected(.stalled))
            }
        }
    }

    @Test(arguments: [
        "ERR max number of clients reached", "LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script.",
    ])
    func `a busy server is retried soon`(_ line: String) async throws {
        try await HostileServer.with([], greets: false, greeting: "-\(line)\r\n") { address in
            try await TestNode.with(address, waits: false, { $0.reconnection.afterRefusal = .seconds(3600) }) { test in
                let fault = RedisConnectionFault.refused(RedisRefusal(line: line))
                try await test.log.wait(for: .connectFailed(.commands, fault), count: 2)
                #expect(test.node.health == .disconnected(fault))
            }
        }
    }
}

/// A server that accepts every login and then sends its script, for any commands.
enum HostileServer {
    /// The reaction to one read.
    enum Step: Sendable {
        case answer(String)
        case answerAndClose(String)
    }

    /// Runs the server during `body`.
    /// - Parameters:
    ///   - greets: true if it replies to the two commands of a login without a password.
    ///   - greeting: sent on every connection.
    static func with(
        _ steps: [Step], greets: Bool = true, greeting: String = "",
        _ body: (RedisAddress) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(steps: (greets ? [.answer("+OK\r\n+PONG\r\n")] : []) + steps, greeting: greeting))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        let result: Result<Void, any Error>
        do { result = .success(try await body(.host("127.0.0.1", port: port))) } catch { result = .failure(error) }
        try await server.close()
        try await group.shutdownGracefully()
        try result.get()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private var steps: ArraySlice<Step>
        private let greeting: String

        init(steps: [Step], greeting: String) { (self.steps, self.greeting) = (steps[...], greeting) }

        func channelActive(context: ChannelHandlerContext) {
            if !greeting.isEmpty { say(greeting, context) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch steps.popFirst() {
            case .answer(let text): say(text, context)
            case .answerAndClose(let text):
                say(text, context)
                context.close(promise: nil)
            case nil: break
            }
        }

        private func say(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
    }
}
