// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

// A whole answer is written as HTTP/1.1 has it on the wire (RFC 9112 §2.1, §4): one buffer, one system call. The encoder
// would make two buffers of it, and a header in NIO's form and another in between.

extension Reply {
    /// The answer, header and body.
    func octets(requestID: String, isLast: Bool, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        var octets = allocator.buffer(capacity: 512 + body.readableBytes)
        octets.writeString("HTTP/1.1 ")
        octets.writeString(String(status.code))
        octets.writeString(" ")
        octets.writeString(status.reasonPhrase)
        octets.writeString("\r\n")
        for field in fields { octets.writeField(field.name.rawName, field.value) }
        octets.writeField(HTTPField.Name.requestID.rawName, requestID)
        if isLast { octets.writeField(HTTPField.Name.connection.rawName, "close") }
        octets.writeString("\r\n")
        octets.writeImmutableBuffer(body)
        return octets
    }
}

extension ByteBuffer {
    /// A value of `HTTPField` has neither line ends nor null octets: its initialiser takes them out.
    fileprivate mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeString(": ")
        writeString(value)
        writeString("\r\n")
    }
}

extension ChannelHandlerContext {
    /// The context of the encoder: what is written to it goes to the socket as it is.
    var encoder: ChannelHandlerContext? {
        try? pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
    }
}
