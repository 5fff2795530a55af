// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// The answer to a request, before the fields that every answer has.
package struct Reply: Sendable {
    package var status: HTTPResponse.Status { didSet { writtenHead = nil } }
    package var fields: HTTPFields { didSet { writtenHead = nil } }
    /// The body; empty for a stream.
    package var body: ReplyBody { didSet { writtenHead = nil } }
    /// The fields that differ each time the reply is sent.
    package var added: [HTTPField] = []
    /// True if the connection ends after this reply: a client that is not identified must not keep it.
    package var isLast = false
    /// The parts that follow the header in place of `body`; nil for a complete answer.
    var stream: ReplyStream? { didSet { writtenHead = nil } }
    /// The status line, `fields` and the framing of the body, as sent; nil if they are still to be written.
    private(set) var writtenHead: [UInt8]?

    /// Returns the reply for sending it many times: its head is written once, and it takes no more memory than it needs.
    package consuming func repeatable() -> Reply {
        var head = ByteBuffer()
        head.reserveCapacity(512)
        writeHead(to: &head)
        body = body.compact
        writtenHead = Array(buffer: head)
        return self
    }

    package init(
        status: HTTPResponse.Status = .ok, fields: HTTPFields = .ofJSON, body: ReplyBody
    ) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package init(fields: HTTPFields, stream: ReplyStream) {
        self.init(fields: fields, body: [])
        self.stream = stream
    }
}

package final class ReplyStream: Sendable {
    let first: ByteBuffer
    /// The later parts. The stream is terminated when the client has gone.
    let parts: AsyncStream<ByteBuffer>
    /// The time between two parts after which the connection is closed, because the client does not read them.
    let partDeadline: TimeAmount

    package init(first: ByteBuffer, parts: AsyncStream<ByteBuffer>, partDeadline: TimeAmount) {
        self.first = first
        self.parts = parts
        self.partDeadline = partDeadline
    }
}

extension Reply {
    package init(_ problem: Problem, requestID: String?) {
        var fields = problem.headerFields
        fields[.contentType] = Problem.contentType
        self.init(
            status: problem.status, fields: fields, body: ReplyBody(problem.json(requestID: requestID)))
    }

    package init(json body: [UInt8]) {
        self.init(body: ReplyBody(body))
    }
}

extension HTTPFields {
    /// The fields of a JSON body, made once: thousands of cached answers have them.
    package static let ofJSON: HTTPFields = [.contentType: "application/json"]
}
