// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import JSON
internal import NIOCore

// A complete answer is written as one buffer with one system call, in the format of RFC 9112 §2.1 and §4.

extension Reply {
    /// Returns the answer as it is sent: the header, and the body if there is one.
    /// - Parameters:
    ///   - isLast: true if the answer is the last of its connection.
    ///   - isHead: true for an answer to HEAD, which has the header of an answer to GET and no body (RFC 9110 §9.3.2).
    ///   - isChunked: true if the parts of a stream are sent as chunks (RFC 9112 §7.1).
    func bytes(to requestID: RequestID, isLast: Bool, isHead: Bool, isChunked: Bool) -> ByteBuffer {
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + addedLines.count + (isHead ? 0 : body.count))
        if let writtenHead { bytes.writeBytes(writtenHead) } else { bytes.writeBytes(head) }
        bytes.writeBytes(addedLines)
        if stream != nil, isChunked { bytes.writeStaticString("Transfer-Encoding: chunked\r\n") }
        bytes.writeStaticString("X-Request-Id: ")
        bytes.write(requestID)
        bytes.writeStaticString(isLast ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        if !isHead { body.write(to: &bytes) }
        return bytes
    }

    /// The part of the header that does not depend on the request.
    var head: [UInt8] {
        var head: [UInt8] = []
        head.append(contentsOf: "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n".utf8)
        for field in fields { head.append(line: field) }
        // RFC 9110 §8.6: no length in an answer without content.
        if stream == nil, status != .noContent {
            head.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8)
        }
        return head
    }
}

extension [UInt8] {
    /// Appends a text of the program, without the detour over characters.
    package mutating func append(_ text: StaticString) {
        append(addingCapacity: text.bytes.count) { $0.append(text.bytes) }
    }

    /// Appends the line of a field. A value of `HTTPField` has neither line ends nor null bytes: its initialiser removes
    /// them.
    mutating func append(line field: HTTPField) {
        for part in [field.name.rawName, ": ", field.value, "\r\n"] { append(contentsOf: part.utf8) }
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
}
