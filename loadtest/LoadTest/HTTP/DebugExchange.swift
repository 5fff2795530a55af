// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// One request and its answer as they go over the wire.
struct DebugExchange {
    private let plan: LoadPlan
    private let request: ByteBuffer

    init(_ plan: LoadPlan, _ source: TrafficSource) {
        self.plan = plan
        var traffic = source.traffic(worker: 0, plan)
        request = traffic.next()
    }

    /// Sends the request, and returns both for readers.
    func text() async throws -> String {
        let collector = try await ask()
        let verdict = collector.answer.map { "outcome: \($0.outcome.rawValue)" } ?? "no whole answer in HTTP/1.1"
        return "--- request, \(request.readableBytes.grouped) bytes\n" + Self.readable(request)
            + "\n--- answer, \(collector.bytes.readableBytes.grouped) bytes\n" + Self.readable(collector.bytes)
            + "\n--- \(verdict)\n"
    }

    private func ask() async throws -> Collected {
        let (host, port, limits) = (plan.target.host, plan.target.port, plan.limits.answer)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let done = loop.makePromise(of: Collected.self)
        do {
            let channel = try await ClientBootstrap(group: loop).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AnswerCollector(limits: limits, done: done))
                }
            }.connect(host: host, port: port).get()
            // What a server sends is awaited as long as a request of the run would wait.
            loop.scheduleTask(in: TimeAmount(plan.timeout)) { channel.close(promise: nil) }
            try await channel.writeAndFlush(request)
        } catch {
            done.fail(LoadRunError.notConnected(plan.target.authority))
        }
        return try await done.futureResult.get()
    }

    /// Bytes that have no place on a screen are shown as their numbers.
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

/// What came over the wire, and what it amounts to.
struct Collected: Sendable {
    var bytes = ByteBuffer()
    var answer: Answer?
}

/// Keeps everything until one answer is complete.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var reader: AnswerReader
    private var collected = Collected()
    private let done: EventLoopPromise<Collected>
    private let maximumBytes: Int

    init(limits: AnswerLimits, done: EventLoopPromise<Collected>) {
        reader = AnswerReader(limits: limits)
        maximumBytes = limits.maximumBodyBytes + limits.maximumHeadBytes
        self.done = done
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        collected.bytes.writeImmutableBuffer(bytes)
        var position = 0
        do throws(AnswerFault) {
            collected.answer = try reader.next(bytes.readableBytesUInt8Span, &position)
        } catch {
            context.close(promise: nil)
        }
        if collected.answer != nil || collected.bytes.readableBytes > maximumBytes { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        do throws(AnswerFault) {
            if collected.answer == nil { collected.answer = try reader.end() }
        } catch {
            collected.answer = nil
        }
        done.succeed(collected)
    }
}
