// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// A TCP connection that sends the test's exact bytes and reads the responses.
final class RawConnection {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel
    private var received = ByteBuffer()

    private init(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ channel: any Channel
    ) {
        (self.inbound, self.outbound, self.channel) = (inbound.makeAsyncIterator(), outbound, channel)
    }

    /// Opens a connection around `body`.
    /// - Parameter address: the local address to connect from.
    static func with<Value>(
        port: Int, from address: String = "127.0.0.1", isolation: isolated (any Actor)? = #isolation,
        _ body: (RawConnection) async throws -> Value
    ) async throws -> Value {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await body(RawConnection(inbound, outbound, channel.channel))
        }
    }

    func send(_ text: String, isolation: isolated (any Actor)? = #isolation) async throws {
        try await outbound.write(ByteBuffer(string: text))
    }

    /// Half-closes the connection, and keeps reading.
    func finishSending() {
        outbound.finish()
    }

    /// Returns the next response; nil if the server has closed the connection. A response to HEAD has no body.
    func answer(toHead: Bool = false, isolation: isolated (any Actor)? = #isolation) async throws -> RawAnswer? {
        while true {
            if let (answer, length) = RawAnswer.parse(String(buffer: received), hasBody: !toHead) {
                received.moveReaderIndex(forwardBy: length)
                return answer
            }
            guard let bytes = try await inbound.next(isolation: isolation) else { return nil }
            received.writeImmutableBuffer(bytes)
        }
    }

    /// Reads up to and including this text, or to the end of the connection.
    func text(upTo end: String, isolation: isolated (any Actor)? = #isolation) async throws -> String {
        while true {
            let text = String(buffer: received)
            if let range = text.firstRange(of: end) {
                let found = String(text[..<range.upperBound])
                received.moveReaderIndex(forwardBy: found.utf8.count)
                return found
            }
            guard let bytes = try await inbound.next(isolation: isolation) else { return text }
            received.writeImmutableBuffer(bytes)
        }
    }

    /// Returns true if the server has closed the connection without sending more.
    func isClosed(isolation: isolated (any Actor)? = #isolation) async throws -> Bool {
        guard received.readableBytes == 0 else { return false }
        return try await inbound.next(isolation: isolation) == nil
    }
}

/// A response with `Content-Length` or without a body.
struct RawAnswer: Equatable {
    let status: Int
    /// By lowercase name.
    var headers: [String: String]
    let body: String

    /// Parses the first response in a text, and returns its length in bytes.
    fileprivate static func parse(_ text: String, hasBody: Bool) -> (RawAnswer, Int)? {
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }
        let headers = Dictionary(
            fields.map { ($0[0].lowercased(), String($0[1].drop { $0 == " " })) }, uniquingKeysWith: { "\($0), \($1)" })
        let length = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
        let rest = text[end.upperBound...].utf8
        guard let status = Int(lines[0].split(separator: " ")[1]), rest.count >= length else { return nil }
        let answer = RawAnswer(status: status, headers: headers, body: String(rest.prefix(length)) ?? "")
        return (answer, text[..<end.upperBound].utf8.count + length)
    }
}
