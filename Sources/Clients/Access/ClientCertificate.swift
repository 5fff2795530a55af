// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// An identity in a client certificate that names a client: `dns:shop.internal`, `uri:spiffe://prod/shop` or
/// `sha256:` and the certificate's digest, as the clients file has it.
package enum CertificateIdentity: Hashable, Sendable {
    /// A DNS name among the subject alternative names (RFC 5280 §4.2.1.6), in lower case. No wildcards.
    case dns(String)
    /// A URI among them, compared exactly: SPIFFE IDs.
    case uri(String)
    /// SHA-256 of the certificate's DER.
    case sha256(Fingerprint)

    enum Limits {
        /// More than any name in use.
        static let nameBytes = 1...2048
    }

    /// Reads an identity of the clients file; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, text.isVisibleASCII else { return nil }
        switch parts[0] {
        case "dns": self.init(dnsName: String(parts[1]))
        case "uri": self.init(uri: String(parts[1]))
        case "sha256":
            // As `openssl x509 -fingerprint` writes it, too.
            guard let digest = Fingerprint(hexadecimal: String(parts[1].filter { $0 != ":" })) else { return nil }
            self = .sha256(digest)
        default: return nil
        }
    }

    /// Returns nil for a text that is no name, or beyond the limit.
    package init?(dnsName: String) {
        guard Limits.nameBytes.contains(dnsName.utf8.count), dnsName.isVisibleASCII, !dnsName.contains("*") else {
            return nil
        }
        self = .dns(dnsName.lowercased())
    }

    /// Returns nil for a text that is no URI, or beyond the limit.
    package init?(uri: String) {
        guard Limits.nameBytes.contains(uri.utf8.count), uri.isVisibleASCII, uri.contains(":") else { return nil }
        self = .uri(uri)
    }
}

/// The certificate of a connection's peer, which the TLS handshake has verified.
package struct ClientCertificate: Hashable, Sendable {
    /// The identities. The first that names a client counts: the digest first, then the names in the certificate's order.
    package let identities: [CertificateIdentity]
    /// The time from which it names no client: a connection may last longer, and a resumed session as well.
    package let expires: Timestamp

    package enum Limits {
        /// Further subject alternative names are not read.
        package static let names = 64
    }

    package init(identities: [CertificateIdentity], expires: Timestamp) {
        (self.identities, self.expires) = (identities, expires)
    }

    /// SHA-256 of the certificate's DER; nil if it is not among the identities.
    package var digest: Fingerprint? {
        identities.lazy.compactMap { if case .sha256(let digest) = $0 { digest } else { nil } }.first
    }
}
