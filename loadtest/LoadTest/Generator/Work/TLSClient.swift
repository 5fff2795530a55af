// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// The certificates that a target may prove its name with.
enum TLSTrust: Hashable, Sendable {
    case system
    case file(String)
    case anything

    fileprivate var name: String { if case .file(let path) = self { "'\(path)'" } else { "the system" } }
}

/// TLS towards one target, over which HTTP/1.1 is spoken.
struct TLSClient: Sendable {
    private let context: NIOSSLContext
    /// Nil for an address, which no server name indication holds (RFC 6066 §3).
    private let hostname: String?

    init?(_ target: LoadTarget, _ trust: TLSTrust) throws(LoadRunError) {
        guard target.isSecure else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        switch trust {
        case .system: break
        case .file(let path): configuration.trustRoots = .file(path)
        case .anything: configuration.certificateVerification = .none
        }
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw .noCertificates(trust.name)
        }
        hostname = (try? SocketAddress(ipAddress: target.host, port: 0)) == nil ? target.host : nil
    }

    /// Puts TLS in front of what the channel's other handlers send and receive.
    func add(to channel: any Channel) throws {
        let handler = try NIOSSLClientHandler(context: context, serverHostname: hostname)
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

extension LoadRunError {
    init(_ error: any Error, connectingTo target: LoadTarget) {
        let text = "\(error)"
        guard error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError else {
            self = error as? LoadRunError ?? .notConnected(target.authority)
            return
        }
        // Of the library's text only the last word is for readers: "...:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at ...".
        let reason = text.firstMatch(of: /OPENSSL_internal:(\w+)/).map { String($0.output.1) } ?? text
        self = .handshake(target.authority, reason: reason)
    }
}
