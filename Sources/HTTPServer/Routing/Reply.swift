// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore

/// The answer to a request, before the fields that every answer has.
package struct Reply: Sendable {
    /// All that is the same each time the reply is sent. An object, because cached replies are sent many times.
    private final class Content: Sendable {
        let status: HTTPResponse.Status
        let fields: HTTPFields
        let body: ReplyBody
        let stream: ReplyStream?
        /// The status line, `fields` and the framing of the body, as sent; nil if they are still to be written.
        let writtenHead: [UInt8]?

        init(
            _ status: HTTPResponse.Status, _ fields: HTTPFields, _ body: ReplyBody, _ stream: ReplyStream?,
            writtenHead: [UInt8]? = nil
        ) {
            (self.status, self.fields, self.body, self.stream) = (status, fields, body, stream)
            self.writtenHead = writtenHead
        }
    }

    private var content: Content
    /// The lines of the fields that differ each time the reply is sent.
    private(set) var addedLines: [UInt8] = []
    /// True if the connection ends after this reply: a client that is not identified must not keep it.
    package var isLast = false

    package init(status: HTTPResponse.Status = .ok, fields: HTTPFields = .ofJSON, body: ReplyBody) {
        content = Content(status, fields, body, nil)
    }

    package init(fields: HTTPFields, stream: ReplyStream) {
        content = Content(.ok, fields, [], stream)
    }

    package var status: HTTPResponse.Status {
        get { content.status }
        set { content = Content(newValue, fields, body, stream) }
    }

    package var fields: HTTPFields {
        get { content.fields }
        set { content = Content(status, newValue, body, stream) }
    }

    /// The body; empty for a stream.
    package var body: ReplyBody {
        get { content.body }
        set { content = Content(status, fields, newValue, stream) }
    }

    /// The parts that follow the header in place of `body`; nil for a complete answer.
    var stream: ReplyStream? { content.stream }
    var writtenHead: [UInt8]? { content.writtenHead }

    /// Returns the reply for sending it many times: its head is written once, and it takes no more memory than it needs.
    package consuming func repeatable() -> Reply {
        content = Content(status, fields, body.compact, stream, writtenHead: head.compact)
        return self
    }

    /// Adds a field that differs each time the reply is sent.
    package mutating func add(_ field: HTTPField) { addedLines.append(line: field) }

    /// Adds a field whose value is written in bytes of visible ASCII.
    package mutating func add(_ name: StaticString, _ writeValue: (inout [UInt8]) -> Void) {
        if addedLines.isEmpty { addedLines.reserveCapacity(Self.usualAddedBytes) }
        addedLines.append(name)
        addedLines.append(": ")
        writeValue(&addedLines)
        addedLines.append("\r\n")
    }

    mutating func add(line: [UInt8]) { addedLines.append(contentsOf: line) }

    /// The bytes of `Cache-Status`, `Age` and `Date`.
    private static let usualAddedBytes = 160
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
