// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import NIOCore
internal import NIOSSL

package struct RedisNodeConfiguration: Sendable, Redacted {
    package var address: RedisAddress
    package var tls: RedisTLS?
    package var credentials = RedisURL.Credentials()
    /// The number of the database. 0 is not selected, so that it works in a cluster and with Sentinel.
    package var database = 0
    /// The name in `CLIENT LIST`, without spaces.
    package var clientName = "receipt-gateway"
    package var commandDeadline = Self.commandDeadline
    /// The time limit of one attempt to connect, from name resolution to the last reply of the login.
    package var connectDeadline = Self.connectDeadline
    /// The scripts that every connection loads before it takes commands.
    package var scripts: [RedisScript] = []
    /// The key prefixes whose changes are announced; none is a prefix of another. If it and `channels` are empty, there
    /// is no subscriber connection.
    package var trackedPrefixes: [String] = []
    package var channels: [String] = []
    /// The interval of the subscriber connection's pings; it ends after three without a reply.
    package var pingInterval: Duration = .seconds(1)
    package var reconnection = RedisReconnection()
    package var limits = Limits()

    package static let commandDeadline: Duration = .milliseconds(50)
    package static let connectDeadline: Duration = .milliseconds(250)

    package init(address: RedisAddress) { self.address = address }

    package struct Limits: Hashable, Sendable {
        /// Commands in flight. A command that timed out counts until its reply or the connection's end.
        package var maximumPipelined = 4096
        /// Bytes not yet written to the socket; further commands are rejected.
        package var maximumUnsentBytes = 8 << 20
        package var maximumReplyBytes = 8 << 20
        /// The elements of one reply, in all its arrays together.
        package var maximumReplyElements = 65536
        /// The nesting of arrays; hiredis supports 7.
        package var maximumReplyNesting = 7
    }

    package var description: String { "\(address)" }

    func tlsHandler() throws -> NIOSSLClientHandler? {
        switch address {
        case .host(let host, _): try tls?.handler(host: host)
        case .unixSocket: try tls?.handler(host: "localhost")
        }
    }
}

/// The delays before the next attempt to connect. They double each time, with jitter, so that nodes that lost Redis
/// together do not reconnect together.
package struct RedisReconnection: Hashable, Sendable {
    package var base: Duration = .milliseconds(50)
    /// The maximum delay. After a connection that lasted as long, delays start again at `base`.
    package var longest: Duration = .seconds(2)
    /// The delay after Redis rejected the login, which only an operator can fix.
    package var afterRefusal: Duration = .seconds(10)

    /// Returns a random delay: between half and the whole of `min(longest, base * 2^failures)`.
    /// - Parameter failures: the number of failed attempts before this one's failure.
    func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(failures, Self.maximumDoublings)
        return min(longest, base * (1 << doublings)) * Double.random(in: 0.5...1, using: &generator)
    }

    func delayAfterRefusal(using generator: inout some RandomNumberGenerator) -> Duration {
        afterRefusal * Double.random(in: 0.5...1, using: &generator)
    }

    private static let maximumDoublings = 20
}

/// The TLS settings: trusted authorities, and our certificate. Shared by any number of nodes.
package struct RedisTLS: Sendable {
    package enum Fault: Error, Hashable, Sendable {
        case authorities(path: String)
        case certificate(path: String)
        case privateKey(path: String)
        /// A certificate without a key, a key without a certificate, or two that do not match.
        case unmatched
    }

    /// The end of our certificate chain's validity, in seconds since 1970; nil without a certificate.
    package let certificateEnd: Int?
    private let context: NIOSSLContext

    /// Reads the files once.
    /// - Parameters:
    ///   - caFile: PEM of the trusted authorities; nil for the system's authorities.
    ///   - certificateFile: PEM of our certificate and its intermediates; nil for none.
    ///   - keyFile: PEM of its private key.
    package init(caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) throws(Fault) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // Close even if the other side does not confirm it in time.
        configuration.shutdownTimeout = .milliseconds(250)
        if let caFile {
            configuration.trustRoots = .certificates(try Self.certificates(caFile, or: .authorities(path: caFile)))
        }
        guard (certificateFile == nil) == (keyFile == nil) else { throw .unmatched }
        var certificateEnd: Int?
        if let certificateFile, let keyFile {
            let chain = try Self.certificates(certificateFile, or: .certificate(path: certificateFile))
            certificateEnd = chain.map { Int($0.notValidAfter) }.min()
            configuration.certificateChain = chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(try Self.key(keyFile))
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else { throw .unmatched }
        self.context = context
        self.certificateEnd = certificateEnd
    }

    private static func certificates(_ path: String, or fault: Fault) throws(Fault) -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else { throw fault }
        return certificates
    }

    private static func key(_ path: String) throws(Fault) -> NIOSSLPrivateKey {
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else { throw .privateKey(path: path) }
        return key
    }

    /// - Parameter host: the name in the certificate. An address is compared with the socket's address.
    func handler(host: String) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}
