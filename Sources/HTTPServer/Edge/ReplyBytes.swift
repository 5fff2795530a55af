// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore

// A complete answer is written as one buffer with one system call, in the format of RFC 9112 §2.1 and §4.

/// The parts of an answer's header that depend on the request and its connection.
struct ReplyFraming {
    /// The ID that joins the log lines and the answer of the request.
    let requestID: RequestID
    /// True if the answer is the last of its connection.
    let isLast: Bool
    /// True for an answer to HEAD, which has the header of an answer to GET and no body (RFC 9110 §9.3.2).
    let isHead: Bool
    /// True if the parts of a stream are sent as chunks (RFC 9112 §7.1); false in HTTP/1.0, where the end of the
    /// connection ends the answer.
    let isChunked: Bool
}

extension Reply {
    /// Returns the answer as it is sent: the header, and the body if there is one.
    func bytes(_ framing: ReplyFraming, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        var bytes = allocator.buffer(capacity: 512 + (framing.isHead ? 0 : body.readableBytes))
        bytes.writeImmutableBuffer(head)
        for field in added { bytes.write(field) }
        if stream != nil, framing.isChunked { bytes.writeString("Transfer-Encoding: chunked\r\n") }
        bytes.writeString("X-Request-Id: ")
        bytes.write(framing.requestID)
        bytes.writeString(framing.isLast ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        if !framing.isHead { bytes.writeImmutableBuffer(body) }
        return bytes
    }

    /// Returns the beginning of the header, the same for every request.
    func writeHead() -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
        for field in fields { bytes.write(field) }
        // RFC 9110 §8.6: no length in an answer without content.
        let hasLength = stream == nil && status != .noContent
        if hasLength { bytes.writeString("Content-Length: \(body.readableBytes)\r\n") }
        return bytes
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
