// SPDX-License-Identifier: Apache-2.0

/// The signer's certificate, its issuers in order, and a possible trust anchor. Found by names; not yet verified.
struct CertificatePath {
    /// The path's certificates, the signer's first, without the anchor.
    let certificates: [Certificate]
    let anchor: TrustAnchor
    let anchorCertificate: OwnedCertificate

    /// The maximum number of certificates before the anchor. Leaf and WWDR intermediate are 2; two more leave room.
    private static let maximumLength = 4

    /// Returns the signer's path once for each anchor it may end in, at least once. There are several only if the root
    /// was left out and several anchors have its name.
    static func paths(
        _ certificates: borrowing SignerCertificates, trustStore: TrustStore
    ) throws(ReceiptError) -> [CertificatePath] {
        let bytes = certificates.bytes
        let all = try read(certificates)
        var path = [try signer(certificates.signer, among: all, in: bytes)]
        while let last = path.last, !last.isSelfIssued(in: bytes),
            let issuer = all.first(where: { bytes.equals($0.subject, last.issuer) })
        {
            guard path.count < maximumLength || issuer.isSelfIssued(in: bytes) else {
                throw ReceiptError(.pathLengthExceeded)
            }
            path.append(issuer)
        }
        let order = path.map(\.encoding)
        let anchors = try anchors(endingOf: &path, of: certificates.signer, in: bytes, trustStore)
        // The list of certificates is unsigned: with unused certificates allowed, a receipt would have endless
        // variants.
        guard order.count == all.count else { throw ReceiptError(.certificateUnused) }
        // RFC 7515 §4.1.6: each certificate certifies the certificate before it.
        guard certificates.signer != .first || order == certificates.encodings else {
            throw ReceiptError(.x5cOrderWrong)
        }
        return anchors.map { CertificatePath(certificates: path, anchor: $0, anchorCertificate: $1) }
    }

    private static func read(_ certificates: borrowing SignerCertificates) throws(ReceiptError) -> [Certificate] {
        // The longest path, its anchor and one more, so that a path which is too long is reported as such.
        guard certificates.encodings.count <= maximumLength + 2 else { throw ReceiptError(.certificateUnused) }
        var all: [Certificate] = []
        for range in certificates.encodings { all.append(try Certificate(certificates.bytes, in: range)) }
        return all
    }

    private static func signer(
        _ signer: SignerIdentifier, among all: [Certificate], in bytes: Span<UInt8>
    ) throws(ReceiptError) -> Certificate {
        let matches: [Certificate]
        switch signer {
        case .first: matches = Array(all.prefix(1))
        case .issuerAndSerialNumber(let issuer, let serialNumber):
            matches = all.filter { certificate in
                bytes.equals(certificate.serialNumber, serialNumber) && bytes.equals(certificate.issuer, issuer)
            }
        }
        guard let match = matches.first else { throw ReceiptError(.signerCertificateMissing) }
        guard matches.count == 1 else { throw ReceiptError(.signerCertificateAmbiguous) }
        return match
    }

    /// Removes the root from the path, or finds the anchors whose known certificates come next.
    private static func anchors(
        endingOf path: inout [Certificate], of signer: SignerIdentifier, in bytes: Span<UInt8>,
        _ trustStore: TrustStore
    ) throws(ReceiptError) -> [(TrustAnchor, OwnedCertificate)] {
        guard let last = path.last else { throw ReceiptError(.signerCertificateMissing) }
        if last.isSelfIssued(in: bytes) {
            path.removeLast()
            if let anchor = trustStore.anchor(with: Fingerprint(of: bytes.extracting(last.encoding))) {
                return [(anchor, try OwnedCertificate(bytes.copy(last.encoding)))]
            }
            // Only where the certificates are signed, as in a header: elsewhere a receipt would have endless variants.
            let anchors = signer == .first ? trustStore.anchors(standingFor: last, in: bytes) : []
            guard !anchors.isEmpty else { throw ReceiptError(.anchorUntrusted) }
            return anchors
        }
        let anchors = trustStore.anchors(withSubject: bytes.extracting(last.issuer))
        guard !anchors.isEmpty else { throw ReceiptError(.issuerCertificateMissing) }
        return anchors
    }
}

/// The certificates sent with a signature, and the name of the signer's. Not yet parsed, not yet trusted.
///
/// They come from the set of a PKCS #7 container or the x5c of a JWS header (RFC 7515 §4.1.6).
struct SignerCertificates: ~Escapable {
    let bytes: Span<UInt8>
    let encodings: [Range<Int>]
    let signer: SignerIdentifier

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, at encodings: [Range<Int>], signer: SignerIdentifier) {
        self.bytes = bytes
        self.encodings = encodings
        self.signer = signer
    }
}

enum SignerIdentifier: Hashable, Sendable {
    /// The certificate with this issuer, a Name's whole encoding, and these adjacent contents of its serial number
    /// (RFC 5652 §5.3).
    case issuerAndSerialNumber(issuer: Range<Int>, serialNumber: Range<Int>)
    /// The first certificate, as in x5c (RFC 7515 §4.1.6).
    case first

    /// The bytes that name the signer; empty for the first certificate.
    var name: Range<Int> {
        switch self {
        case .issuerAndSerialNumber(let issuer, let serialNumber): issuer.lowerBound..<serialNumber.upperBound
        case .first: 0..<0
        }
    }
}
