// SPDX-License-Identifier: Apache-2.0

/// An authority for test servers: a client that trusts its certificate accepts every identity it issues.
///
/// Everything is derived from the seed and the names of the hosts. All identities share one key.
package struct TLSAuthority: Sendable {
    /// The self-signed certificate, which a client must trust. Valid 2014 to 2044.
    package let certificate: IssuedCertificate
    private let keys: KeyRing

    /// Creates one key, about a tenth of a second, and its certificate.
    package init(seed: UInt64) {
        keys = KeyRing(seed: seed)
        let key = keys.key(for: .tlsAuthority)
        certificate = CertificateTemplate.tlsAuthority(key: key).signed(by: key)
    }

    package var certificatePEM: String { certificate.pem }

    /// Issues a certificate for these hosts, DNS names or IPv4 addresses such as `127.0.0.1`. Valid 2016 to 2036.
    package func identity(forHosts hosts: [String]) -> TLSIdentity {
        identity(forHosts: hosts, validity: .init(UTCDate(2016, 1, 1), UTCDate(2036, 12, 31)))
    }

    /// Issues an expired certificate for these hosts. Valid 2016 to 2017.
    package func expiredIdentity(forHosts hosts: [String]) -> TLSIdentity {
        identity(forHosts: hosts, validity: .init(UTCDate(2016, 1, 1), UTCDate(2017, 1, 1)))
    }

    private func identity(forHosts hosts: [String], validity: CertificateTemplate.Validity) -> TLSIdentity {
        let (key, authority) = (keys.key(for: .tlsServer), keys.key(for: .tlsAuthority))
        let template = CertificateTemplate.tlsServer(key: key, hosts: hosts, validity: validity, authority: authority)
        return TLSIdentity(
            certificatePEM: template.signed(by: authority).pem,
            privateKeyPEM: key.pem)
    }
}

/// The certificate and the private key of a TLS server or client.
package struct TLSIdentity: Sendable, Hashable {
    /// The server's certificate (RFC 7468), without the authority's.
    package let certificatePEM: String
    /// The server's private key as PKCS #8 text (RFC 5958, RFC 7468).
    package let privateKeyPEM: String

    package init(certificatePEM: String, privateKeyPEM: String) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
    }
}

extension CertificateTemplate {
    fileprivate static func tlsAuthority(key: RSAPrivateKey) -> Self {
        CertificateTemplate(
            serialNumber: [3], issuer: TestNames.tlsAuthority, subject: TestNames.tlsAuthority,
            validity: Validity(UTCDate(2014, 1, 1), UTCDate(2044, 1, 1)),
            subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .keyUsage([.keyCertSign, .cRLSign]),
                .certificateAuthority(pathLength: 0),
                .subjectKeyIdentifier(key.keyIdentifier),
            ])
    }

    fileprivate static func tlsServer(
        key: RSAPrivateKey, hosts: [String], validity: Validity, authority: RSAPrivateKey
    ) -> Self {
        let names = CertificateExtension.subjectAlternativeName(hosts)
        return CertificateTemplate(
            serialNumber: serialNumber(of: names, validity), issuer: TestNames.tlsAuthority,
            subject: TestNames.tlsServer, validity: validity, subjectPublicKeyInfo: key.subjectPublicKeyInfo,
            extensions: [
                .endEntity,
                .keyUsage([.digitalSignature, .keyEncipherment]),
                .extendedKeyUsage(.serverAuthentication, .clientAuthentication),
                names,
                .subjectKeyIdentifier(key.keyIdentifier),
                .authorityKeyIdentifier(authority.keyIdentifier),
            ])
    }

    /// Derives a number that is unique for the issuer and has at most 20 bytes (RFC 5280 §4.1.2.2).
    private static func serialNumber(of names: CertificateExtension, _ validity: Validity) -> [UInt8] {
        let certified = DERNode.sequence(names.element, validity.notBefore, validity.notAfter)
        return Array(SigningDigest.sha256.hash(certified.encoded).prefix(16))
    }
}

extension CertificateExtension {
    /// `GeneralNames`: `dNSName [2] IA5String`, `iPAddress [7] OCTET STRING` of four bytes (RFC 5280 §4.2.1.6).
    fileprivate static func subjectAlternativeName(_ hosts: [String]) -> Self {
        let names = hosts.map { host in
            addressBytes(host).map { DERNode(.context(7), $0) } ?? DERNode(.context(2), Array(host.utf8))
        }
        return Self(identifier: .subjectAlternativeName, value: .sequence(of: names))
    }

    /// Returns the bytes of a dotted IPv4 address; nil for anything else.
    private static func addressBytes(_ host: String) -> [UInt8]? {
        let bytes = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return bytes.count == 4 && !bytes.contains(nil) ? bytes.compactMap(\.self) : nil
    }
}
