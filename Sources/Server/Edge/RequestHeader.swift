// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The header of a request, and what the edge wants to know of it, found in one pass.
///
/// A class, because a header is handed on many times and never changes.
final class RequestHeader: Sendable {
    /// The header as it was sent.
    let head: HTTPRequest
    /// Joins the log lines and the answer of this request.
    let requestID: String
    /// The length the client announced; nil for chunked bodies and for none.
    let announcedBytes: Int?
    /// Whether the client waits for `100 Continue` before it sends the body; nil if it expects something unknown.
    let expectsContinue: Bool?
    /// Whether this is the last request of its connection. After a request to upgrade the decoder reads no further.
    let isLast: Bool

    init(_ head: HTTPRequest) {
        var announcedBytes: Int?
        var expectsContinue: Bool? = false
        var isLast = head.method == .connect
        var sentRequestID: String?
        for field in head.headerFields {
            switch field.name {
            // The decoder lets no header pass with two of them.
            case .contentLength: announcedBytes = Int(field.value)
            case .expect: expectsContinue = field.value.lowercased() == "100-continue" ? true : nil
            case .connection: isLast = isLast || field.value == "close"
            case .upgrade: isLast = true
            case .requestID: sentRequestID = sentRequestID == nil ? field.value : ""
            default: break
            }
        }
        self.head = head
        requestID = RequestID(sent: sentRequestID).value
        (self.announcedBytes, self.expectsContinue, self.isLast) = (announcedBytes, expectsContinue, isLast)
    }

    /// The header for the router, which has the identifier in it.
    var identified: HTTPRequest {
        var head = head
        head.headerFields[.requestID] = requestID
        return head
    }
}
