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
        let tls = try TLSClient(target, trust)
        do {
            let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(timeout))
                .connect(host: target.host, port: target.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try tls?.add(to: channel)
                        return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let channel = connection.channel
            channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) { channel.close(promise: nil) }
            return try await connection.executeThenClose { incoming, outgoing in
                // A server may answer and close before it has read the whole request.
                try? await outgoing.write(request)
                return try await reply(incoming)
            }
        } catch {
            throw LoadRunError(error, connectingTo: target)
        }
    }

    /// Keeps everything until one answer is complete.
    private func reply(_ incoming: NIOAsyncChannelInboundStream<ByteBuffer>) async throws -> Reply {
        var limits = AnswerLimits(), reply = Reply()
        (limits.maximumBodyBytes, limits.openingBytes) = (maximumBodyBytes, maximumBodyBytes)
        var reader = AnswerReader(limits: limits)
        do {
            for try await bytes in incoming {
                reply.bytes.writeImmutableBuffer(bytes)
                var position = 0
                reply.answer = try reader.next(bytes.readableBytesUInt8Span, &position)
                if reply.answer != nil { break }
            }
            if reply.answer == nil { reply.answer = try reader.end() }
        } catch {
            if reply.bytes.readableBytes == 0 { throw error }
        }
        reply.body = reader.opening
        return reply
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
