// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How requests are made, and what they may take. There is no setting that switches off the check of certificates.
public struct TransportConfiguration: Sendable {
    /// Name, TCP and TLS together.
    public var connectTimeout: Duration = .seconds(2)
    /// What a request may take, whatever its deadline says.
    public var totalTimeout: Duration = .seconds(10)
    /// A request is given up when fewer than `lowSpeedBytesPerSecond` move for so long, also before the first byte of
    /// its answer. Whole seconds; zero switches this off.
    public var lowSpeedTime: Duration = .seconds(5)
    /// See `lowSpeedTime`.
    public var lowSpeedBytesPerSecond = 1
    /// What the body of an answer may take.
    public var maximumResponseBytes = 16 * 1024 * 1024
    /// What all header fields of an answer may take, interim ones and trailers included.
    public var maximumHeaderBytes = 64 * 1024
    /// Requests in flight; what goes over is refused at once.
    public var maximumRequests = 512
    /// Connections to one host; what goes over waits. HTTP/2 needs one, HTTP/1.1 one for each request in flight.
    public var maximumConnectionsPerHost = 200
    /// After so long a connection is not used for another request, so that changes of DNS arrive. Whole seconds.
    public var maximumConnectionAge: Duration = .seconds(300)
    /// A PEM file with the authorities to trust instead of the system's.
    public var caFile: String?
    /// `http://host:port` of the proxy to go through. Nil is none, whatever the environment says. The proxy resolves the
    /// names and its own address is the operator's choice: `allowsPrivateAddresses` has nothing to say then.
    public var proxy: String?
    /// Whether URLs may be `http`: for upstreams on this machine and for tests.
    public var allowsPlainHTTP = false
    /// Whether upstreams may have addresses that are not globally reachable (loopback, RFC 1918, link-local, ...). What is
    /// checked is the address that is connected to, so that no DNS answer can point inside.
    public var allowsPrivateAddresses = false
    /// What `User-Agent` says.
    public var userAgent = "receipt-gateway"

    /// The defaults.
    public init() {}
}
