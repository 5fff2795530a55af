// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore

// A complete answer is written as one buffer with one system call, in the format of RFC 9112 §2.1 and §4.

extension Reply {
    /// Returns the answer as it is sent: the header, and the body if there is one.
    /// - Parameters:
    ///   - isLast: true if the answer is the last of its connection.
    ///   - isHead: true for an answer to HEAD, which has the header of an answer to GET and no body (RFC 9110 §9.3.2).
    ///   - isChunked: true if the parts of a stream are sent as chunks (RFC 9112 §7.1).
    func bytes(
        to requestID: RequestID, isLast: Bool, isHead: Bool, isChunked: Bool, _ allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        var bytes = allocator.buffer(capacity: 512 + (isHead ? 0 : body.count))
        if let writtenHead { bytes.writeBytes(writtenHead) } else { writeHead(to: &bytes) }
        for field in added { bytes.write(field) }
        if stream != nil, isChunked { bytes.writeString("Transfer-Encoding: chunked\r\n") }
        bytes.writeString("X-Request-Id: ")
        bytes.write(requestID)
        bytes.writeString(isLast ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        if !isHead { body.write(to: &bytes) }
        return bytes
    }

    /// Writes the part of the header that does not depend on the request.
    func writeHead(to bytes: inout ByteBuffer) {
        // In parts: an interpolated string takes memory of its own.
        bytes.writeString("HTTP/1.1 ")
        bytes.writeString(String(status.code))
        bytes.writeString(" ")
        bytes.writeString(status.reasonPhrase)
        bytes.writeString("\r\n")
        for field in fields { bytes.write(field) }
        // RFC 9110 §8.6: no length in an answer without content.
        let hasLength = stream == nil && status != .noContent
        guard hasLength else { return }
        bytes.writeString("Content-Length: ")
        bytes.writeString(String(body.count))
        bytes.writeString("\r\n")
    }
}

extension ByteBuffer {
    /// The bytes of the answer before the final one (RFC 9110 §15.2.1).
    static let `continue` = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")
    /// The end of a chunked body, without trailers (RFC 9112 §7.1).
    static let lastChunk = ByteBuffer(string: "0\r\n\r\n")

    /// Returns the bytes as one chunk (RFC 9112 §7.1).
    func asChunk() -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(readableBytes + 16)
        chunk.writeString(String(readableBytes, radix: 16))
        chunk.writeString("\r\n")
        chunk.writeImmutableBuffer(self)
        chunk.writeString("\r\n")
        return chunk
    }

    /// A value of `HTTPField` has neither line ends nor null bytes: its initialiser removes them.
    fileprivate mutating func write(_ field: HTTPField) {
        writeString(field.name.rawName)
        writeString(": ")
        writeString(field.value)
        writeString("\r\n")
    }
}
