// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// One request over a connection of its own, and its answer, which is kept whole.
struct Exchange: Sendable {
    let target: LoadTarget
    var trust = TLSTrust.system
    /// The longest time from the connection to the end of the answer.
    var timeout = Duration.seconds(5)
    var maximumBodyBytes = 16 << 20

    struct Reply: Sendable {
        var bytes = ByteBuffer()
        /// Nil unless a whole answer in HTTP/1.1 was received.
        var answer: LoadAnswer?
        var body: [UInt8] = []
    }

    /// Sends a request and collects bytes until the answer is complete, the connection ends or the time is over.
    func send(_ request: ByteBuffer) async throws(LoadRunError) -> Reply {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let done = loop.makePromise(of: Reply.self)
        let tls = try TLSClient(target, trust)
        do {
            let channel = try await ClientBootstrap(group: loop).connectTimeout(TimeAmount(timeout))
                .channelInitializer { [maximumBodyBytes] channel in
                    channel.eventLoop.makeCompletedFuture {
                        let collector = AnswerCollector(maximumBodyBytes, done)
                        try tls?.add(to: channel)
                        try channel.pipeline.syncOperations.addHandler(collector)
                    }
                }
                .connect(host: target.host, port: target.port).get()
            loop.scheduleTask(in: TimeAmount(timeout)) { channel.close(promise: nil) }
            try await channel.writeAndFlush(request)
        } catch {
            done.fail(error)
        }
        do {
            return try await done.futureResult.get()
        } catch {
            throw LoadRunError(error, connectingTo: target)
        }
    }

    func get() async throws(LoadRunError) -> Reply {
        try await send(RequestForm.request("GET", target, [], body: nil))
    }

    /// Sends a request, and returns it and its answer as they go over the wire, for readers.
    func transcript(of request: ByteBuffer) async throws(LoadRunError) -> String {
        let reply = try await send(request)
        let verdict = reply.answer.map { "outcome: \($0.outcome.rawValue)" } ?? "no whole answer in HTTP/1.1"
        return "--- request, \(request.readableBytes.grouped) bytes\n" + Self.readable(request)
            + "\n--- answer, \(reply.bytes.readableBytes.grouped) bytes\n" + Self.readable(reply.bytes)
            + "\n--- \(verdict)\n"
    }

    /// Bytes that cannot be printed are shown as their numbers.
    private static func readable(_ bytes: ByteBuffer) -> String {
        let shown = bytes.readableBytesView.prefix(maximumShownBytes)
        let text = shown.map { byte in
            switch byte {
            case UInt8(ascii: "\n"), 0x20...0x7E: String(UnicodeScalar(byte))
            case UInt8(ascii: "\r"): ""
            default: "\\x" + String(byte, radix: 16)
            }
        }.joined()
        return text + (bytes.readableBytes > shown.count ? "..." : "")
    }

    private static let maximumShownBytes = 16 << 10
}

/// Keeps everything until one answer is complete.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var reader: AnswerReader
    private var reply = Exchange.Reply()
    private var failure: (any Error)?
    private let done: EventLoopPromise<Exchange.Reply>

    init(_ maximumBodyBytes: Int, _ done: EventLoopPromise<Exchange.Reply>) {
        var limits = AnswerLimits()
        (limits.maximumBodyBytes, limits.openingBytes) = (maximumBodyBytes, maximumBodyBytes)
        reader = AnswerReader(limits: limits)
        self.done = done
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard reply.answer == nil else { return }
        reply.bytes.writeImmutableBuffer(bytes)
        var position = 0
        do throws(AnswerFault) {
            reply.answer = try reader.next(bytes.readableBytesUInt8Span, &position)
            if reply.answer != nil { context.close(promise: nil) }
        } catch {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let failure, reply.bytes.readableBytes == 0 { return done.fail(failure) }
        if reply.answer == nil { reply.answer = try? reader.end() }
        reply.body = reader.opening
        done.succeed(reply)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = error
        context.close(promise: nil)
    }
}
