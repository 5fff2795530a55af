// SPDX-License-Identifier: Apache-2.0

/// The certificates of a verified chain.
public struct VerifiedChainInfo: Hashable, Sendable {
    /// One certificate.
    public struct Link: Hashable, Sendable {
        /// SHA-256 of its DER encoding.
        public let fingerprint: Fingerprint
        /// The end of its validity.
        public let notAfter: Timestamp

        /// Creates a link.
        public init(fingerprint: Fingerprint, notAfter: Timestamp) {
            self.fingerprint = fingerprint
            self.notAfter = notAfter
        }
    }

    /// The signer's certificate, unless it is the anchor, and then its issuers in order.
    public let belowAnchor: [Link]
    /// The trust anchor.
    public let anchor: Link

    /// Creates a chain.
    public init(belowAnchor: [Link], anchor: Link) {
        self.belowAnchor = belowAnchor
        self.anchor = anchor
    }

    init(_ path: CertificatePath, in bytes: Span<UInt8>) {
        belowAnchor = path.certificates.map { certificate in
            Link(
                fingerprint: Fingerprint(of: bytes.extracting(certificate.encoding)),
                notAfter: certificate.validity.notAfter)
        }
        anchor = Link(
            fingerprint: path.anchor.fingerprint, notAfter: path.anchorCertificate.fields.validity.notAfter)
    }

    /// The certificates between the signer and the anchor.
    public var intermediates: ArraySlice<Link> { belowAnchor.dropFirst() }

    /// True if the anchor is one of Apple's roots.
    public var isApples: Bool { TrustStore.apple.anchor(with: anchor.fingerprint) != nil }

    /// True if Apple's chain has an intermediate under which nothing was signed before this program was written. That
    /// is no fault, as markers and signatures are right; but it is news.
    public var hasUnknownIntermediate: Bool {
        isApples && intermediates.contains { !Self.knownIntermediates.contains($0.fingerprint) }
    }

    /// Apple's authorities above receipts since 2009 and transactions since 2021; Worldwide Developer Relations unless
    /// named.
    private static let knownIntermediates = Set(
        [
            "447AD65484610F20FDC33804C8597A1E208FBE4EF9C5653485CC7D3DF730C016",  // iTunes Store, until 2016-05-18.
            "64B302913F11CA1B6806093B76CADE7F7B123BE0C04924FDA87F5F4E8647F051",  // Until 2016-02-14.
            "CE057691D730F89CA25E916F7335F4C8A15713DCD273A658C024023F8EB809C2",  // Until 2023-02-07.
            "0F570D7502373A2102E2106FAAA8FA4844944A07EE676198484F4D6CE15BEA47",  // G7, until 2023-11-17.
            "53FD008278E5A595FE1E908AE9C5E5675F26243264A5A6438C023E3CE2870760",  // G5, until 2030-12-10.
            "BDD4ED6E74691F0C2BFD01BE0296197AF1379E0418E2D300EFA9C3BEF642CA30",  // G6, elliptic, until 2036-03-19.
        ].compactMap(Fingerprint.init(hexadecimal:)))
}
