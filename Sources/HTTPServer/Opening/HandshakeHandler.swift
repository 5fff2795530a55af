// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import JSON
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import Receipts
internal import Telemetry

/// The event that a TLS handshake is complete.
struct SecuredConnection: Sendable {
    /// The peer's certificate, verified; nil if it sent none.
    let certificate: ClientCertificate?
}

/// The handler between TLS and HTTP until the handshake is complete. It reports the peer's certificate, counts failures,
/// and closes a connection that is not secured at once.
final class HandshakeHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let metrics: EdgeMetrics?
    private let logger: Logger
    private var hasFailed = false

    init(_ metrics: EdgeMetrics?, _ logger: Logger) {
        (self.metrics, self.logger) = (metrics, logger)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted = event else { return context.fireUserInboundEventTriggered(event) }
        metrics?.handshakes.increment()
        let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
        context.fireUserInboundEventTriggered(
            SecuredConnection(certificate: certificate.flatMap { ClientCertificate($0) }))
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// NIOSSL closes the connection itself.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(.handshakeFailed)
        logger.debug("TLS handshake failed", metadata: ["error": "\("\(error)".printable(maximum: 500))"])
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        fail(.handshakeUnfinished)
        // Past the handler of TLS, which would wait for the peer.
        let secured = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (secured ?? context).close(promise: promise)
    }

    private func fail(_ failure: OpeningFailure) {
        guard !hasFailed else { return }
        hasFailed = true
        metrics?.openingFailures[failure]?.increment()
    }
}

extension ClientCertificate {
    /// Returns nil if the certificate cannot be read.
    fileprivate init?(_ certificate: NIOSSLCertificate) {
        guard let der = try? certificate.toDERBytes() else { return nil }
        let names = certificate._subjectAlternativeNames().prefix(Limits.names).compactMap {
            name -> CertificateIdentity? in
            // SAFETY: the bytes are copied while the name holds them.
            let bytes = unsafe name.contents.withUnsafeBufferPointer { unsafe Array($0) }
            guard let text = String(outside: bytes) else { return nil }
            return switch name.nameType {
            case .dnsName: CertificateIdentity(dnsName: text)
            case .uri: CertificateIdentity(uri: text)
            default: nil
            }
        }
        self.init(
            identities: [.sha256(Fingerprint(of: der.span))] + names, expires: Timestamp(certificate.notValidAfter))
    }
}
