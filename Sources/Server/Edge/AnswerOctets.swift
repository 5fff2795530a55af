// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

// A whole answer is written as HTTP/1.1 has it on the wire (RFC 9112 §2.1, §4): one buffer, one system call. The encoder
// would make two buffers of it, and a header in NIO's form and another in between.

extension Reply {
    /// The answer, header and body.
    func octets(requestID: RequestID, isLast: Bool, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        var octets = allocator.buffer(capacity: 512 + body.readableBytes)
        octets.writeImmutableBuffer(head)
        for field in added { octets.write(field) }
        octets.writeString("X-Request-Id: ")
        octets.write(requestID)
        octets.writeString(isLast ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        octets.writeImmutableBuffer(body)
        return octets
    }

    /// What the header begins with, the same for whoever asks.
    func writeHead() -> ByteBuffer {
        var octets = ByteBuffer()
        octets.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
        for field in fields { octets.write(field) }
        octets.writeString("Content-Length: \(body.readableBytes)\r\n")
        return octets
    }
}

extension ByteBuffer {
    /// A value of `HTTPField` has neither line ends nor null octets: its initialiser takes them out.
    fileprivate mutating func write(_ field: HTTPField) {
        writeString(field.name.rawName)
        writeString(": ")
        writeString(field.value)
        writeString("\r\n")
    }
}

extension ChannelHandlerContext {
    /// The context of the encoder. To be looked for once: it takes as long as a whole header.
    var encoder: ChannelHandlerContext? {
        try? pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
    }
}
