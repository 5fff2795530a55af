// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The reason why a request has no answer: one case for each action of an operator. No case carries text, so no part of
/// a URL, header or body can get into a log.
package enum TransportError: Error, Hashable, Sendable {
    /// The progress of a request at its timeout.
    package enum Phase: String, Sendable, Hashable, CaseIterable {
        /// No connection was ready; nothing was sent.
        case connecting
        /// The request was sent, at least in part.
        case answering
        /// The request was sent, but no data moved for a while, before the deadline.
        case stalled
    }

    // MARK: Faults of the caller

    /// The URL is not absolute, has invalid bytes, names a user, or is too long.
    case invalidURL
    case insecureURL
    /// A field has an invalid name or value, or only the transport may set it.
    case invalidHeader
    case tooManyRequests

    // MARK: Faults of the network

    /// The proxy is unreachable, or refused the request.
    case proxy
    case resolve
    /// All addresses of the host are forbidden by the configuration: loopback, private, link-local, ...
    case forbiddenAddress
    case connect
    /// No TLS session: no common version or cipher, or no TLS at all.
    case tlsHandshake
    /// The upstream's certificate is not trusted, not for this host, or not valid now.
    case tlsVerification
    case trustStore
    case timeout(Phase)

    // MARK: Faults of the upstream

    case reset
    case tooLarge
    case protocolViolation

    // MARK: Local reasons

    case cancelled
    case shuttingDown
    /// Another libcurl error: its number (CURLcode), or 0 if the system refused a thread or memory.
    case `internal`(code: Int32)
}
