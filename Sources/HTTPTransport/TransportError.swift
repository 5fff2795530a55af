// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a request has no answer. One case for each thing an operator would do about it; none carries text, so that
/// nothing of a URL, a header or a body can leak into a log.
public enum TransportError: Error, Hashable, Sendable {
    /// How far a request had come when its time was over.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// No connection was ready: nothing was sent.
        case connecting
        /// The request, or a part of it, was sent.
        case answering
        /// The request was sent, and for a while nothing moved, though there was time left.
        case stalled
    }

    // MARK: The caller's mistakes

    /// The URL is not absolute, has bytes that no URL has, names a user, or is too long.
    case invalidURL
    /// The URL is `http`, which the configuration does not allow.
    case insecureURL
    /// A field has a name or a value that cannot be sent as it is, or is one that only the transport may set.
    case invalidHeader
    /// As many requests are in flight as the configuration allows.
    case tooManyRequests

    // MARK: Between us and the upstream

    /// The proxy could not be reached, or refused.
    case proxy
    /// The host's name has no address.
    case resolve
    /// All addresses of the host are ones that the configuration forbids: loopback, private, link-local, ...
    case forbiddenAddress
    /// No connection came about.
    case connect
    /// No TLS came about: no common version or cipher, or no TLS at all.
    case tlsHandshake
    /// The upstream's certificate is not from an authority we trust, not for this host, or not valid now.
    case tlsVerification
    /// The authorities to trust could not be read.
    case trustStore
    /// The deadline or one of the configured limits of time has passed.
    case timeout(Phase)

    // MARK: The upstream's mistakes

    /// The connection ended before the answer did.
    case reset
    /// The answer, its header or its body, is larger than the configuration allows.
    case tooLarge
    /// What came back is not HTTP.
    case protocolViolation

    // MARK: Our own doing

    /// The task that waited was cancelled.
    case cancelled
    /// `shutdown()` was called.
    case shuttingDown
    /// libcurl gave up for a reason that no other case names: its number (CURLcode), or 0 for the system's refusal of a
    /// thread or of memory.
    case `internal`(code: Int32)
}
