// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

/// The reason why TLS with Redis failed. Logs and the API have the raw values.
package enum RedisTLSFault: String, CaseIterable, Hashable, Sendable {
    /// The certificate of Redis has expired, or no trusted authority issued it.
    case certificateUntrusted = "certificate_untrusted"
    /// The certificate of Redis names another host.
    case certificateOfOtherHost = "certificate_of_other_host"
    /// Redis requires a client certificate.
    case clientCertificateRequired = "client_certificate_required"
    /// Redis rejects the client certificate, or has no algorithm in common with this program.
    case clientCertificateRejected = "client_certificate_rejected"
    /// The server at the port does not use TLS.
    case notTLS = "not_tls"
    /// The handshake was cut short, or failed for a reason that is not known to be permanent.
    case interrupted

    /// True if the next attempt fails as well, unless the operator changes something.
    package var isPermanent: Bool { self != .interrupted }

    /// Creates the fault of a channel error; nil for an error that TLS did not cause.
    init?(_ error: any Error) {
        switch error {
        case let error as NIOSSLExtraError:
            self = error == .failedToValidateHostname ? .certificateOfOtherHost : .interrupted
        case let error as BoringSSLError: self.init(libraryText: "\(error)")
        case NIOSSLError.handshakeFailed(let error): self.init(libraryText: "\(error)")
        default: return nil
        }
    }

    /// - Parameter text: BoringSSL's text, which has the name of the reason, and a path of the machine that built it.
    private init(libraryText text: String) {
        let reasons: [(fault: Self, names: [String])] = [
            (.certificateUntrusted, ["CERTIFICATE_VERIFY_FAILED"]),
            (.clientCertificateRequired, ["CERTIFICATE_REQUIRED"]),
            (
                .clientCertificateRejected,
                [
                    "ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_CERTIFICATE_", "ALERT_UNSUPPORTED_CERTIFICATE",
                    "ALERT_ACCESS_DENIED", "ALERT_HANDSHAKE_FAILURE", "ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL",
                ]
            ),
            (.notTLS, ["WRONG_VERSION_NUMBER"]),
        ]
        self = reasons.first { $0.names.contains { text.contains($0) } }?.fault ?? .interrupted
    }
}
