// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import Telemetry

/// The handlers of a listener's new connections, in the order of their bytes: the PROXY protocol's header, TLS, HTTP. A
/// connection has only those that it needs.
struct ConnectionOpening: Sendable {
    let edge: Edge
    let limits: HTTPLimits
    /// The certificate for a new connection; nil for a listener without TLS.
    let certificate: @Sendable () -> ServerCertificate?
    /// The time limit of the TLS handshake.
    let handshakeDeadline: TimeAmount
    /// The load balancers whose connections begin with a header of the PROXY protocol.
    let proxies: AddressRanges
    let logger: Logger

    func open(_ channel: any Channel) throws {
        if !proxies.isEmpty, let peer = channel.peer, proxies.contains(peer) {
            try channel.pipeline.syncOperations.addHandler(ProxyHeaderHandler(self))
        } else {
            _ = try serve(channel, for: nil)
        }
    }

    /// Adds the handlers of TLS and HTTP.
    /// - Parameter client: the client that a load balancer has named; nil if the peer is the client.
    /// - Returns: false if the address of the client has its maximum of connections: the channel is closed once it is active.
    func serve(_ channel: any Channel, for client: NetworkAddress?) throws -> Bool {
        let pipeline = channel.pipeline.syncOperations, certificate = certificate()
        let handler = EdgeHandler(
            edge, limits, client: client, handshakeDeadline: certificate.map { _ in handshakeDeadline })
        try pipeline.addHandler(handler)
        // Before the handshake costs anything.
        guard !handler.isRefused else { return false }
        if let certificate {
            let secured = NIOSSLServerHandler(context: certificate.context)
            try pipeline.addHandlers(
                [secured, HandshakeHandler(edge.metrics, logger)], position: .before(handler))
        }
        return true
    }
}

extension Channel {
    var peer: NetworkAddress? { remoteAddress?.ipAddress.flatMap { NetworkAddress($0) } }
}

/// The reason why a connection ended before HTTP began. The raw values appear in metrics.
package enum OpeningFailure: String, SeriesLabels {
    /// No common version or cipher, an unknown authority, or bytes that are no TLS.
    case handshakeFailed = "tls_handshake"
    /// The deadline passed, or the node stopped.
    case handshakeUnfinished = "tls_unfinished"
    /// No valid header of the PROXY protocol in time.
    case proxyHeader = "proxy_header"

    static let labelNames = ["cause"]
}
