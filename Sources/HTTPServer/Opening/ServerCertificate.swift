// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import NIOCore
internal import NIOSSL
package import Receipts
internal import Synchronization

/// The files of a listener with TLS. Without a certificate the listener has no TLS.
package struct TLSFiles: Hashable, Sendable {
    /// PEM: the listener's certificate, then its intermediates.
    package var certificate: String?
    /// PEM: the private key of the first certificate.
    package var key: String?
    /// PEM: the authorities whose client certificates are accepted; nil to request none.
    package var clientAuthorities: String?

    package init() {}

    package var isEnabled: Bool { certificate != nil }
}

/// The certificate of a listener with its key, and the authorities of its clients, as the files were when they were read.
package struct ServerCertificate: Sendable {
    /// The first end of validity in the chain.
    package let end: Timestamp
    /// The digest of the files' texts.
    package let fingerprint: Fingerprint
    let context: NIOSSLContext

    /// The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325 §4.2). TLS 1.3 has no other.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private enum Limits {
        /// The time that a closed connection waits for the peer to close as well.
        static let shutdown: Int64 = 250
    }

    /// Reads the files of a listener; nil without a certificate.
    /// - Parameter group: the settings of the files: `gateway.http.tls`.
    /// - Throws: all problems of the files.
    package init?(
        _ files: TLSFiles, of group: String, readFile: @escaping FileReader = TextFile.read
    ) throws(ConfigurationProblems) {
        var reading = Reading(group: group, readFile: readFile)
        guard let path = files.certificate else {
            if files.key != nil { reading.report("key_file", "needs \(group).certificate_file") }
            if files.clientAuthorities != nil { reading.report("client_ca_file", "needs \(group).certificate_file") }
            guard reading.problems.isEmpty else { throw ConfigurationProblems(problems: reading.problems) }
            return nil
        }
        let chain = reading.certificates(in: path, of: "certificate_file")
        let key = reading.key(in: files.key)
        let authorities = files.clientAuthorities.map { reading.authorities(in: $0) }
        guard reading.problems.isEmpty, let key else { throw ConfigurationProblems(problems: reading.problems) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = Self.cipherSuites
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .milliseconds(Limits.shutdown)
        if let authorities {
            // Not required: health checks, and clients with API keys, have none.
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .certificates(authorities)
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw ConfigurationProblems(
                "\(group).key_file",
                "the key in \(files.key ?? "") does not belong to the first certificate in \(path), or is too weak")
        }
        self.context = context
        end = chain.map { Timestamp($0.notValidAfter) }.min() ?? .earliest
        fingerprint = Fingerprint(of: reading.texts.span)
    }

    /// The files while they are read.
    private struct Reading {
        let group: String
        let readFile: FileReader
        var problems: [ConfigurationProblem] = []
        var texts: [UInt8] = []

        mutating func report(_ setting: String, _ fault: String) {
            problems.append(ConfigurationProblem(location: "\(group).\(setting)", fault: fault))
        }

        mutating func certificates(in path: String, of setting: String) -> [NIOSSLCertificate] {
            guard let text = text(of: path, setting) else { return [] }
            do throws(TrustAnchorError) {
                let certificates = try PEM.certificates(in: text)
                let readable = certificates.compactMap { try? NIOSSLCertificate(bytes: $0, format: .der) }
                if readable.count < certificates.count {
                    report(setting, "\(path) contains a certificate that is none")
                }
                if readable.contains(where: \.hasSmallKey) {
                    report(setting, "\(path) contains a certificate with an RSA key of less than 2048 bits")
                }
                return readable
            } catch {
                report(setting, "\(path) \(error.description)")
                return []
            }
        }

        mutating func authorities(in path: String) -> [NIOSSLCertificate] {
            let authorities = certificates(in: path, of: "client_ca_file")
            // BoringSSL accepts no chain that ends before a root.
            if !authorities.isEmpty, authorities.allSatisfy(\.isIssuedByAnother) {
                report("client_ca_file", "\(path) contains no root: add the root that these authorities descend from")
            }
            return authorities
        }

        mutating func key(in path: String?) -> NIOSSLPrivateKey? {
            guard let path else {
                report("key_file", "is missing: set it to the file with the private key of \(group).certificate_file")
                return nil
            }
            guard let text = text(of: path, "key_file") else { return nil }
            let key = try? NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
            if key == nil { report("key_file", "\(path) contains no private key in PEM without a passphrase") }
            return key
        }

        private mutating func text(of path: String, _ setting: String) -> String? {
            do throws(FileFault) {
                let text = try readFile(path)
                texts += Array(text.utf8) + [0]
                return text
            } catch {
                report(setting, "\(TextFile.shown(path)) \(error.description)")
                return nil
            }
        }
    }
}

extension NIOSSLCertificate {
    /// True for a key that most TLS clients refuse.
    fileprivate var hasSmallKey: Bool {
        (try? extractPublicKey().toSPKIBytes()).map { PublicKey.isSmallRSA($0) } ?? false
    }

    /// True if it is certainly no root.
    fileprivate var isIssuedByAnother: Bool {
        guard let der = try? toDERBytes() else { return false }
        do throws(TrustAnchorError) {
            _ = try TrustAnchor(der: der, environments: [])
            return false
        } catch {
            return error == .notSelfIssued
        }
    }
}

extension Timestamp {
    /// - Parameter seconds: since 1970, of any size.
    init(_ seconds: Int) {
        let (milliseconds, overflow) = Int64(seconds).multipliedReportingOverflow(by: 1000)
        self = overflow ? (seconds < 0 ? .earliest : .latest) : Timestamp(millisecondsSince1970: milliseconds)
    }
}

/// The certificates of both listeners; nil for a listener without TLS.
package struct ServerCertificates: Sendable {
    package var data: ServerCertificate?
    package var admin: ServerCertificate?

    package init(data: ServerCertificate? = nil, admin: ServerCertificate? = nil) {
        (self.data, self.admin) = (data, admin)
    }
}

/// The certificates that connections get from now on. A reload replaces them; a connection keeps the certificate that it
/// began with.
package final class CurrentServerCertificates: Sendable {
    private let current: Mutex<ServerCertificates>
    private let onChange: @Sendable (ServerCertificates) -> Void

    /// - Parameter onChange: receives the certificates, now and at each change.
    package init(
        _ certificates: ServerCertificates = ServerCertificates(),
        onChange: @escaping @Sendable (ServerCertificates) -> Void = { _ in }
    ) {
        current = Mutex(certificates)
        self.onChange = onChange
        onChange(certificates)
    }

    package var now: ServerCertificates { current.withLock { $0 } }

    package func replace(with certificates: ServerCertificates) {
        current.withLock { $0 = certificates }
        onChange(certificates)
    }
}
