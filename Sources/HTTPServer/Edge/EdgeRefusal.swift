// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Telemetry

/// The reason why the edge answers a request itself and closes the connection. The raw values appear in metrics.
package enum EdgeRefusal: String, Error, SeriesLabels {
    /// Not HTTP/1.1, both `Transfer-Encoding` and `Content-Length`, no single `Host`, or cut short.
    case malformed
    /// A version other than HTTP/1.0 and HTTP/1.1 (RFC 9110 §15.6.6).
    case version
    /// An unknown method, or an unknown transfer coding before `chunked` (RFC 9110 §15.6.2, RFC 9112 §6.1).
    case notImplemented = "not_implemented"
    /// `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferCoding = "transfer_coding"
    /// A request target beyond its limit (RFC 9112 §3).
    case targetTooLong = "target_too_long"
    /// A host that this listener does not serve (RFC 9110 §15.5.20): see `HostRule`.
    case misdirected
    /// A change requested by a page of another site.
    case foreignOrigin = "foreign_origin"
    /// The address named by a trusted proxy has reached its limit of requests in flight.
    case tooManyOfAddress = "too_many_of_address"
    case unauthenticated
    /// One field, or all fields together, beyond the limit.
    case headerTooLarge = "header_too_large"
    case bodyTooLarge = "body_too_large"
    case bodyTooFragmented = "body_too_fragmented"
    case headersLate = "headers_late"
    case bodyLate = "body_late"
    /// The bodies in flight take the whole budget.
    case overloaded
    case answerLate = "answer_late"
    /// `Expect` with a value other than `100-continue` (RFC 9110 §10.1.1).
    case expectation

    static let labelNames = ["cause"]
}
