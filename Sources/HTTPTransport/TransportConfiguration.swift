// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The settings and limits of requests. No setting disables the verification of certificates.
package struct TransportConfiguration: Sendable {
    /// The limit for name resolution, TCP and TLS together.
    package var connectTimeout: Duration = .seconds(2)
    /// The limit for a request, whatever its deadline.
    package var totalTimeout: Duration = .seconds(10)
    /// The time after which a request fails if fewer than `lowSpeedBytesPerSecond` arrive, also before the first byte.
    /// Whole seconds; zero disables the check.
    package var lowSpeedTime: Duration = .seconds(5)
    package var lowSpeedBytesPerSecond = 1
    package var maximumResponseBytes = 16 * 1024 * 1024
    /// The limit for all header fields of an answer, including interim answers and trailers.
    package var maximumHeaderBytes = 64 * 1024
    /// The limit for requests in flight; further ones are rejected at once.
    package var maximumRequests = 512
    /// The limit for connections to one host; further ones wait. HTTP/2 needs one, HTTP/1.1 one for each request.
    package var maximumConnectionsPerHost = 200
    /// The age after which a connection is not reused, so that DNS changes take effect. Whole seconds.
    package var maximumConnectionAge: Duration = .seconds(300)
    /// A PEM file of trusted authorities, instead of the system's.
    package var caFile: String?
    /// The URL of the proxy, `http://host:port`; nil for none, whatever the environment. The proxy resolves names, and
    /// its address is the operator's choice: `allowsPrivateAddresses` does not apply.
    package var proxy: String?
    /// True if URLs may be `http`: for upstreams on this machine and for tests.
    package var allowsPlainHTTP = false
    /// True if upstreams may have addresses that are not globally reachable (loopback, RFC 1918, link-local, ...). The
    /// check applies to the connected address, so no DNS answer can point inside.
    package var allowsPrivateAddresses = false
    package var userAgent = "receipt-gateway"

    package init() {}
}
