// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import JSON
package import NIOCore
internal import Receipts
internal import Synchronization

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

    package init(json body: [UInt8], fields: HTTPFields = .ofJSON) {
        self.init(fields: fields, body: ReplyBody(body))
    }

    /// Creates a reply with a JSON object.
    package init(fields: HTTPFields = .ofJSON, members: (inout JSONWriter) -> Void) {
        self.init(json: JSONWriter.object(members), fields: fields)
    }

    package init(_ problem: Problem, requestID: String?) {
        var fields = problem.headerFields
        fields[.contentType] = Problem.contentType
        self.init(status: problem.status, fields: fields, body: ReplyBody(problem.json(requestID: requestID)))
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
    /// The bytes of the status line, the type and the length of a body.
    fileprivate static let usualHeadBytes = 96
}

package final class ReplyStream: Sendable {
    let first: ByteBuffer
    /// The later parts. The stream is terminated when the client has gone.
    let parts: AsyncStream<ByteBuffer>
    /// The time between two parts after which the connection is closed, because the client does not read them.
    let partDeadline: TimeAmount

    package init(first: ByteBuffer, parts: AsyncStream<ByteBuffer>, partDeadline: TimeAmount) {
        (self.first, self.parts, self.partDeadline) = (first, parts, partDeadline)
    }
}

extension HTTPFields {
    /// The fields of a JSON body, made once: thousands of cached answers have them.
    package static let ofJSON: HTTPFields = [.contentType: "application/json"]
    /// The fields of a JWS in compact serialization (RFC 7515 §9.2.1).
    package static let ofJOSE: HTTPFields = [.contentType: "application/jose"]
    /// The fields of a JSON body that no cache may store.
    package static let ofUnstoredJSON: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
}

/// The body of an answer. Answers that differ in their first bytes alone share the rest, and a part that stands in it
/// twice is kept once: a cached answer takes half the memory, and is written once.
package struct ReplyBody: ExpressibleByArrayLiteral, Sendable {
    /// A part of `rest` that is sent again.
    package struct Repetition: Sendable {
        let part: Range<Int>
        /// The position in `rest` before which it is sent again, behind the part.
        let position: Int

        package init(of part: Range<Int>, at position: Int) {
            precondition(part.upperBound <= position)
            (self.part, self.position) = (part, position)
        }
    }

    private let start: [UInt8]
    private let rest: [UInt8]
    private let repetition: Repetition?

    package init(start: [UInt8] = [], _ rest: [UInt8], repeating repetition: Repetition? = nil) {
        precondition(repetition.map { $0.position <= rest.count } ?? true)
        (self.start, self.rest, self.repetition) = (start, rest, repetition)
    }

    package init(arrayLiteral elements: UInt8...) { self.init(elements) }

    /// The number of bytes that are sent.
    package var count: Int { start.count + rest.count + (repetition?.part.count ?? 0) }

    package var bytes: [UInt8] {
        guard let repetition else { return start + rest }
        return start + rest[..<repetition.position] + rest[repetition.part] + rest[repetition.position...]
    }

    func write(to buffer: inout ByteBuffer) {
        buffer.writeBytes(start)
        guard let repetition else { return _ = buffer.writeBytes(rest) }
        buffer.writeBytes(rest[..<repetition.position])
        buffer.writeBytes(rest[repetition.part])
        buffer.writeBytes(rest[repetition.position...])
    }

    /// The same body in arrays of exactly its size.
    package var compact: ReplyBody { ReplyBody(start: start.compact, rest.compact, repeating: repetition) }

    /// The memory of a compact body.
    package var byteCount: Int { start.count + rest.count + 2 * Self.arrayHeaderBytes }

    /// The memory of an array beside its elements, rounded up as malloc does.
    private static let arrayHeaderBytes = 48
}

extension [UInt8] {
    var compact: [UInt8] {
        // A copy takes no more memory than it needs; an array that grew has up to twice as much.
        span.isEmpty ? [] : unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }
}

extension HTTPField.Name {
    /// `Preference-Applied` (RFC 7240 §3).
    package static let preferenceApplied = known("Preference-Applied")

    /// `X-Accel-Buffering: no` keeps nginx from collecting a stream.
    package static let accelBuffering = known("X-Accel-Buffering")

    package static let referrerPolicy = known("Referrer-Policy")

    package static func known(_ name: String) -> HTTPField.Name {
        guard let fieldName = HTTPField.Name(name) else { preconditionFailure("\(name) is no field name") }
        return fieldName
    }
}

extension Duration {
    /// The whole seconds, rounded up so that a client that waits so long does not return too early.
    package var secondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) + (attoseconds > 0 ? 1 : 0)
    }
}

/// The header field `Date` (RFC 9110 §6.6.1), written once a second.
final class DateField: Sendable {
    private let latest = Mutex<(second: Int64, line: [UInt8])?>(nil)

    func line(at now: Timestamp) -> [UInt8] {
        let second = now.millisecondsSince1970 / 1000
        return latest.withLock { latest in
            if let latest, latest.second == second { return latest.line }
            var line: [UInt8] = []
            line.append(line: HTTPField(name: .date, value: HTTPDate.text(now)))
            latest = (second, line)
            return line
        }
    }
}

// A complete answer is written as one buffer with one system call, in the format of RFC 9112 §2.1 and §4.

extension Reply {
    /// Returns the answer as it is sent: the header, and the body if there is one.
    /// - Parameters:
    ///   - version: the version of the request. A client of HTTP/1.0 keeps its connection only if the answer says so
    ///     (RFC 9112 §C.2.2).
    ///   - isHead: true for an answer to HEAD, which has the header of an answer to GET and no body (RFC 9110 §9.3.2).
    func bytes(
        to requestID: RequestID, in version: RequestHeader.Version = .http1_1, isLast: Bool, isHead: Bool
    ) -> ByteBuffer {
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + addedLines.count + (isHead ? 0 : body.count))
        if let writtenHead { bytes.writeBytes(writtenHead) } else { bytes.writeBytes(head) }
        bytes.writeBytes(addedLines)
        if stream != nil, version.hasChunks { bytes.writeStaticString("Transfer-Encoding: chunked\r\n") }
        bytes.writeStaticString("X-Request-Id: ")
        bytes.write(requestID)
        if isLast {
            bytes.writeStaticString("\r\nConnection: close\r\n\r\n")
        } else {
            bytes.writeStaticString(version == .http1_0 ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\n\r\n")
        }
        if !isHead { body.write(to: &bytes) }
        return bytes
    }

    /// The part of the header that does not depend on the request.
    var head: [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(Self.usualHeadBytes)
        head.append("HTTP/1.1 ")
        head.append(number: status.code)
        head.append(" ")
        head.append(contentsOf: status.phrase.utf8)
        head.append("\r\n")
        for field in fields { head.append(line: field) }
        // RFC 9110 §8.6: no length in an answer without content.
        if stream == nil, status != .noContent {
            head.append("Content-Length: ")
            head.append(number: body.count)
            head.append("\r\n")
        }
        return head
    }
}

extension [UInt8] {
    /// Appends a text of the program, without the detour over characters.
    package mutating func append(_ text: StaticString) {
        append(addingCapacity: text.bytes.count) { $0.append(text.bytes) }
    }

    fileprivate mutating func append(number: Int) {
        append(addingCapacity: JSONWriter.longestInteger) { $0.append(integer: Int64(number)) }
    }

    /// Appends the line of a field. A value of `HTTPField` has neither line ends nor null bytes: its initialiser removes
    /// them.
    mutating func append(line field: HTTPField) {
        append(contentsOf: field.name.rawName.utf8)
        append(": ")
        append(contentsOf: field.value.utf8)
        append("\r\n")
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
