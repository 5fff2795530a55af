// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// The answer to a request, before the fields that every answer has.
package struct Reply: Sendable {
    /// The status.
    package var status: HTTPResponse.Status = .ok { didSet { writtenHead = nil } }
    /// The header fields of this answer.
    package var fields: HTTPFields = [.contentType: "application/json"] { didSet { writtenHead = nil } }
    /// The body; empty for a stream.
    package var body: ByteBuffer { didSet { writtenHead = nil } }
    /// The fields that differ when the reply is given again.
    package var added: [HTTPField] = []
    /// What follows the header instead of `body`, part by part; nil for a complete answer.
    var stream: ReplyStream? { didSet { writtenHead = nil } }
    /// The value of `head`, where it is kept.
    private var writtenHead: ByteBuffer?

    /// The status line, `fields` and the framing of the body, as they are sent.
    var head: ByteBuffer { writtenHead ?? writeHead() }

    /// The reply as one that is given many times.
    package var repeatable: Reply {
        var reply = self
        reply.writtenHead = head
        return reply
    }

    /// Creates a complete answer.
    package init(
        status: HTTPResponse.Status = .ok, fields: HTTPFields = [.contentType: "application/json"], body: ByteBuffer
    ) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Creates an answer that goes on for as long as its stream has parts.
    package init(fields: HTTPFields, stream: ReplyStream) {
        self.init(fields: fields, body: ByteBuffer())
        self.stream = stream
    }
}

/// The parts of an answer that goes on.
package final class ReplyStream: Sendable {
    /// The first part, which is sent with the header.
    let first: ByteBuffer
    /// The parts behind it. The stream is terminated when the client is gone.
    let parts: AsyncStream<ByteBuffer>
    /// The time from one part to the next after which the connection is closed, because the client takes none.
    let partDeadline: TimeAmount

    /// Creates a stream.
    package init(first: ByteBuffer, parts: AsyncStream<ByteBuffer>, partDeadline: TimeAmount) {
        self.first = first
        self.parts = parts
        self.partDeadline = partDeadline
    }
}

extension Reply {
    /// Creates the answer that reports a problem.
    init(_ problem: Problem, requestID: String?) {
        var fields = problem.headerFields
        fields[.contentType] = Problem.contentType
        self.init(
            status: problem.status, fields: fields, body: ByteBuffer(bytes: problem.json(requestID: requestID)))
    }

    /// Creates an answer with a JSON body.
    package init(json body: [UInt8]) {
        self.init(body: ByteBuffer(bytes: body))
    }

    /// Creates the answer to OPTIONS (RFC 9110 §9.3.7).
    init(allowing methods: [HTTPRequest.Method]) {
        let allow = methods.map(\.rawValue).joined(separator: ", ")
        self.init(status: .noContent, fields: [.allow: allow], body: ByteBuffer())
    }
}
