// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Testing

/// A client that sends a request and does not read the answer.
struct Caller {
    private let channel: any Channel

    /// Sends a receipt in base64.
    /// - Parameters:
    ///   - bodyBytes: the minimum size of the body, reached with white space.
    ///   - withheldBytes: the number of bytes at the end of the body that are not sent.
    init(
        asking gateway: RunningGateway, about receipt: String, paddedTo bodyBytes: Int = 0,
        without withheldBytes: Int = 0
    ) async throws {
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: gateway.dataPort).get()
        let request = #"{"receipt":"\#(receipt)"}"#
        let padding = max(0, bodyBytes - request.utf8.count)
        let head =
            "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(request.utf8.count + padding)\r\n\r\n"
        // Bytes, because a text of megabytes takes seconds in a debug build.
        var bytes = ByteBuffer(string: head + request)
        bytes.writeRepeatingByte(UInt8(ascii: " "), count: padding)
        try await channel.writeAndFlush(bytes.getSlice(at: 0, length: bytes.readableBytes - withheldBytes) ?? bytes)
    }

    /// Ends the connection with RST: after FIN a client might still read (RFC 9112 §9.6), so the gateway ignores that.
    func hangUp() async throws {
        let socket = try #require(channel as? any SocketOptionProvider)
        try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await channel.close()
    }
}
