// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// The TLS settings: trusted authorities, and our certificate. Shared by any number of nodes.
package struct RedisTLS: Sendable {
    /// The file that is unusable.
    package enum Fault: Error, Hashable, Sendable {
        /// The authorities cannot be read, or there are none.
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
    ///   - caFile: PEM of the trusted authorities; nil for those of the system.
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

    /// Creates the handler of one connection.
    /// - Parameter host: the name in the certificate. An address is compared with that of the socket.
    func handler(host: String) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}

extension RedisNodeConfiguration {
    func tlsHandler() throws -> NIOSSLClientHandler? {
        switch address {
        case .host(let host, _): try tls?.handler(host: host)
        case .unixSocket: try tls?.handler(host: "localhost")
        }
    }
}
