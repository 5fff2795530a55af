// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The settings and limits of requests. No setting disables the verification of certificates.
public struct TransportConfiguration: Sendable {
    /// The limit for name resolution, TCP and TLS together.
    public var connectTimeout: Duration = .seconds(2)
    /// The limit for a request, whatever its deadline.
    public var totalTimeout: Duration = .seconds(10)
    /// The time after which a request fails if fewer than `lowSpeedBytesPerSecond` arrive, also before the first byte.
    /// Whole seconds; zero disables the check.
    public var lowSpeedTime: Duration = .seconds(5)
    /// The minimum speed; see `lowSpeedTime`.
    public var lowSpeedBytesPerSecond = 1
    /// The limit for the body of an answer.
    public var maximumResponseBytes = 16 * 1024 * 1024
    /// The limit for all header fields of an answer, including interim answers and trailers.
    public var maximumHeaderBytes = 64 * 1024
    /// The limit for requests in flight; further ones are rejected at once.
    public var maximumRequests = 512
    /// The limit for connections to one host; further ones wait. HTTP/2 needs one, HTTP/1.1 one for each request.
    public var maximumConnectionsPerHost = 200
    /// The age after which a connection is not reused, so that DNS changes take effect. Whole seconds.
    public var maximumConnectionAge: Duration = .seconds(300)
    /// A PEM file of trusted authorities, instead of the system's.
    public var caFile: String?
    /// The URL of the proxy, `http://host:port`; nil for none, whatever the environment. The proxy resolves names, and
    /// its address is the operator's choice: `allowsPrivateAddresses` does not apply.
    public var proxy: String?
    /// True if URLs may be `http`: for upstreams on this machine and for tests.
    public var allowsPlainHTTP = false
    /// True if upstreams may have addresses that are not globally reachable (loopback, RFC 1918, link-local, ...). The
    /// check applies to the connected address, so no DNS answer can point inside.
    public var allowsPrivateAddresses = false
    /// The value of `User-Agent`.
    public var userAgent = "receipt-gateway"

    /// Creates the default settings.
    public init() {}
}
