// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore

/// A request while it arrives: the header is complete, the body may not be.
struct IncomingRequest: Sendable {
    /// The header; `X-Request-Id` holds the identifier the gateway uses.
    private(set) var head: HTTPRequest
    /// What has arrived of the body.
    private(set) var body: ByteBuffer?
    /// When the header was complete.
    let arrival: NIODeadline

    /// The bytes of `body`.
    var bodyBytes: Int { body?.readableBytes ?? 0 }

    /// A request of which the header has arrived.
    init(_ head: HTTPRequest, at arrival: NIODeadline) {
        (self.head, self.arrival) = (head, arrival)
        self.head.headerFields[.requestID] = RequestID(head.headerFields).value
    }

    /// The length the client announced; nil for chunked bodies and for none.
    var announcedBytes: Int? {
        head.headerFields[.contentLength].flatMap { Int($0) }
    }

    /// Whether the client waits for `100 Continue` before it sends the body; nil if it expects something unknown.
    var expectsContinue: Bool? {
        guard let expectation = head.headerFields[.expect] else { return false }
        return expectation.lowercased() == "100-continue" ? true : nil
    }

    /// Whether this is the last request of its connection. After a request to upgrade the decoder reads no further.
    var isLast: Bool {
        head.headerFields[.connection] == "close" || head.headerFields[.upgrade] != nil || head.method == .connect
    }

    /// How many parts the body came in.
    private(set) var bodyParts = 0

    /// Adds a part of the body. The buffer doubles as bytes arrive; nothing is reserved for what is merely announced,
    /// because an announcement costs its sender nothing.
    mutating func append(_ part: ByteBuffer) {
        bodyParts += 1
        guard body != nil else { return body = part }
        body?.writeImmutableBuffer(part)
    }

    /// Whether the body comes in so many small parts that handling them costs more than the body is worth.
    var isTooFragmented: Bool { bodyParts > 1024 + bodyBytes / 256 }

    /// When the body was complete; nil until then.
    private(set) var completion: NIODeadline?

    /// The body is complete: gives it up, because somebody else has it now.
    mutating func complete(at now: NIODeadline) {
        completion = now
        body = nil
    }
}
