// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Settings

/// The reason why the edge answers a request itself and closes the connection.
package enum EdgeRefusal: Error, Hashable, Sendable {
    /// Not HTTP/1.1, both `Transfer-Encoding` and `Content-Length`, no single `Host`, or cut short.
    case malformed
    /// A version other than HTTP/1.0 and HTTP/1.1 (RFC 9110 §15.6.6).
    case version
    /// An unknown method, or an unknown transfer coding before `chunked` (RFC 9110 §15.6.2, RFC 9112 §6.1).
    case notImplemented
    /// `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferCoding
    /// A request target beyond its limit (RFC 9112 §3).
    case targetTooLong
    /// A host that this listener does not serve (RFC 9110 §15.5.20): see `HostRule`.
    case misdirected
    /// A change requested by a page of another site.
    case foreignOrigin
    /// The address named by a trusted proxy has reached its limit of requests in flight.
    case tooManyOfAddress
    /// No valid API key.
    case unauthenticated
    /// One field, or all fields together, beyond the limit.
    case headerTooLarge
    case bodyTooLarge(maximum: ByteCount)
    /// The body arrives in too many small parts.
    case bodyTooFragmented
    /// The first header did not arrive in time.
    case headersLate
    /// The body did not arrive in time.
    case bodyLate
    /// The bodies in flight take the whole budget.
    case overloaded
    /// The gateway took too long to answer.
    case answerLate
    /// `Expect` with a value other than `100-continue` (RFC 9110 §10.1.1).
    case expectation
}
