// SPDX-License-Identifier: Apache-2.0

import Gateway
import NIOCore
import NIOEmbedded
import Receipts
import Testing

@testable import API
@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Telemetry

/// One connection without a socket, observed between the ticks of its event loop.
@Suite("Back pressure of a connection")
struct EdgeBackPressureTests {
    @Test func `pipelined requests are answered one by one, and the event loop polls in between`() throws {
        let channel = try Self.channel()
        for _ in 0..<1000 { Self.send(to: channel) }
        channel.pipeline.fireChannelReadComplete()
        #expect(try Self.answers(of: channel) == 0)
        channel.embeddedEventLoop.run()
        #expect(try Self.answers(of: channel) == 1)
        Self.pass(turns: 1000, of: channel)
        #expect(try Self.answers(of: channel) == 999)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func `a client that does not read its responses is neither answered nor read`() throws {
        let channel = try Self.channel()
        let reads = ReadCounter()
        try channel.pipeline.syncOperations.addHandler(reads, position: .first)
        channel.isWritable = false
        let before = reads.count
        for _ in 0..<3 { Self.send(to: channel) }
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
        #expect(try Self.answers(of: channel) == 0 && reads.count == before)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        Self.pass(turns: 1000, of: channel)
        #expect(try Self.answers(of: channel) == 3 && reads.count > before)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func `a client that half-closes gets the responses to all its requests`() throws {
        let channel = try Self.channel()
        for _ in 0..<20 { Self.send(to: channel) }
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.pipeline.fireChannelReadComplete()
        #expect(channel.isActive)
        Self.pass(turns: 1000, of: channel)
        #expect(try Self.answers(of: channel) == 20)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func `parsed bytes are forgotten, also if each read ends in the middle of a request`() throws {
        let (channel, handler) = try Self.connection()
        let whole = Self.request()
        let first = try #require(whole.getSlice(at: 0, length: 1))
        let request = try #require(whole.getSlice(at: 1, length: whole.readableBytes - 1))
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(first))
        for _ in 0..<2000 {
            var bytes = request
            bytes.writeImmutableBuffer(first)
            channel.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            channel.pipeline.fireChannelReadComplete()
            channel.embeddedEventLoop.run()
            #expect(try Self.answers(of: channel) == 1)
            #expect(handler.receivedCapacity <= 1024)
        }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func `of more bytes than may wait the complete requests are answered, and the next is refused`() throws {
        let (channel, handler) = try Self.connection()
        let most = EdgeHandler.Limits.receivedBytes
        for _ in 0..<most / Self.request().readableBytes + 10 { Self.send(to: channel) }
        #expect(handler.receivedCapacity <= 2 * most)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.pipeline.fireChannelReadComplete()
        Self.pass(turns: most / Self.request().readableBytes + 10, of: channel)
        var statuses: [String] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            statuses.append(String(String(buffer: bytes).prefix(12)))
        }
        #expect(statuses.dropLast().allSatisfy { $0 == "HTTP/1.1 200" } && statuses.count > 1000)
        #expect(statuses.last == "HTTP/1.1 503")
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: - Steps

    private static func channel() throws -> EmbeddedChannel { try connection().channel }

    private static func connection() throws -> (channel: EmbeddedChannel, handler: EdgeHandler) {
        let rules = EdgeRules(
            bodyLimit: .kibibytes(64), headersDeadline: .hours(1), requestDeadline: .hours(1),
            answerDeadline: .hours(1),
            idleDeadline: .hours(1), shutdownGrace: .hours(1))
        let registry = try PrometheusRegistry(MetricCatalogue.all)
        let handler = VerifyHandler(
            verification: Forged.service,
            access: CurrentAccess(Access(AccessRules())),
            charging: RequestCharging(.forTests, metrics: LimitMetrics(registry)),
            metrics: VerificationMetrics(registry),
            nearCache: NearCache(maximumBytes: 1 << 20), lifecycle: UpstreamLifecycle(), clock: { .now() })
        let pipeline = RequestPipeline(
            routes: RouteTable([handler.route(at: VerdictEndpoint())]), log: RequestLog(logger: nil),
            logger: .silent)
        let edge = Edge(
            rules: rules, budget: BodyBudget(.mebibytes(1)), lifecycle: ServerLifecycle(), pipeline: pipeline)
        let channel = EmbeddedChannel(), edgeHandler = EdgeHandler(edge, HTTPLimits())
        try channel.pipeline.syncOperations.addHandler(edgeHandler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, edgeHandler)
    }

    /// Sends one request, as the socket does.
    private static func send(to channel: EmbeddedChannel) {
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(request()))
    }

    private static func request() -> ByteBuffer {
        let header = "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        let body = #"{"receipt":"AQID"}"#
        return ByteBuffer(string: header + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    }

    /// Lets so many turns of the event loop pass.
    private static func pass(turns: Int, of channel: EmbeddedChannel) {
        for _ in 0..<turns { channel.embeddedEventLoop.advanceTime(by: EventLoopScheduler.Limits.pause) }
    }

    /// Returns the number of responses written since the last call.
    private static func answers(of channel: EmbeddedChannel) throws -> Int {
        var count = 0
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            count += String(buffer: bytes).hasPrefix("HTTP/1.1 200") ? 1 : 0
        }
        return count
    }
}

/// Counts the reads of the socket.
private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = Any
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}
