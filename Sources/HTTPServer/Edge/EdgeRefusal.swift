// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Settings

/// Why the edge answers a request itself and closes the connection.
package enum EdgeRefusal: Error, Hashable, Sendable {
    /// Not HTTP/1.1, or with both `Transfer-Encoding` and `Content-Length`, or without the one `Host` it needs, or cut
    /// short.
    case malformed
    /// A version other than HTTP/1.0 and HTTP/1.1 (RFC 9110 §15.6.6).
    case version
    /// A method, or a transfer coding in front of `chunked`, that the gateway does not know (RFC 9110 §15.6.2, RFC 9112
    /// §6.1).
    case notImplemented
    /// `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferCoding
    /// A request target beyond its limit (RFC 9112 §3).
    case targetTooLong
    /// A host that this listener does not serve (RFC 9110 §15.5.20): see `HostRule`.
    case misdirected
    /// A change that a page of another site asks for.
    case foreignOrigin
    /// The address that a trusted proxy names has as many requests in flight as it may.
    case tooManyOfAddress
    /// No valid API key.
    case unauthenticated
    /// A field, or all fields together, beyond their limits.
    case headerTooLarge
    /// More body than one request may have.
    case bodyTooLarge(maximum: ByteCount)
    /// The body comes in far too many small parts.
    case bodyTooFragmented
    /// The first header did not arrive in time.
    case headersLate
    /// The body did not arrive in time.
    case bodyLate
    /// All bodies together take what they may.
    case overloaded
    /// The gateway itself took too long.
    case answerLate
    /// `Expect` with something other than `100-continue` (RFC 9110 §10.1.1).
    case expectation
}
