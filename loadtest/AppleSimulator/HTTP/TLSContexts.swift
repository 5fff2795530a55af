// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL
internal import ReceiptForge

/// The endpoints' certificates, ready for handshakes.
struct TLSContexts: Sendable {
    /// The certificate that clients trust.
    let right: NIOSSLContext
    /// A certificate for the same hosts from an untrusted authority.
    let wrong: NIOSSLContext

    init(_ identity: TLSIdentity) throws(SimulatorError) {
        let stranger = TLSAuthority(seed: 0x5712_A46E)
        do {
            right = try Self.context(identity)
            wrong = try Self.context(stranger.identity(forHosts: ["localhost", "127.0.0.1"]))
        } catch {
            throw .identityUnusable
        }
    }

    private static func context(_ identity: TLSIdentity) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }
}
