// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The signer's certificate, its issuers in order, and a trust anchor they may end in. Found by names; not yet verified.
struct CertificatePath {
    /// The certificates from the container that belong to the path, the signer's first. Ends before the anchor.
    let certificates: [Certificate]
    let anchor: TrustAnchor
    let anchorCertificate: OwnedCertificate

    /// The most certificates before the anchor. A path of leaf and WWDR intermediate has 2; two more are room enough.
    private static let maximumLength = 4

    /// The path in a container: once for each anchor it may end in, at least once. There are several only where the
    /// root was left out and several anchors have its name.
    static func paths(
        _ container: SignedData, in receipt: Span<UInt8>, trustStore: TrustStore
    ) throws(ReceiptError) -> [CertificatePath] {
        let all = try certificates(container, in: receipt)
        var path = [try signer(container.signer, among: all, in: receipt)]
        while let last = path.last, !last.isSelfIssued(in: receipt), let issuer = issuer(of: last, all, receipt) {
            guard path.count < maximumLength || issuer.isSelfIssued(in: receipt) else {
                throw ReceiptError(.pathLengthExceeded)
            }
            path.append(issuer)
        }
        let length = path.count
        let anchors = try anchors(endingOf: &path, in: receipt, trustStore)
        // Nobody signs the list of certificates: with others allowed, a receipt would have endless variants.
        guard length == all.count else { throw ReceiptError(.certificateUnused) }
        return anchors.map { CertificatePath(certificates: path, anchor: $0, anchorCertificate: $1) }
    }

    private static func certificates(_ container: SignedData, in receipt: Span<UInt8>) throws(ReceiptError)
        -> [Certificate]
    {
        var certificates: [Certificate] = []
        for range in container.certificates { certificates.append(try Certificate(receipt, in: range)) }
        return certificates
    }

    private static func signer(
        _ signer: SignerInfo, among all: [Certificate], in receipt: Span<UInt8>
    ) throws(ReceiptError) -> Certificate {
        let matches = all.filter { certificate in
            receipt.equals(certificate.serialNumber, signer.serialNumber)
                && receipt.equals(certificate.issuer, signer.issuer)
        }
        guard let match = matches.first else { throw ReceiptError(.signerCertificateMissing) }
        guard matches.count == 1 else { throw ReceiptError(.signerCertificateAmbiguous) }
        return match
    }

    private static func issuer(of certificate: Certificate, _ all: [Certificate], _ receipt: Span<UInt8>)
        -> Certificate?
    {
        all.first { receipt.equals($0.subject, certificate.issuer) }
    }

    /// Takes the root off the path if it is there, or finds the anchors whose certificate is known and comes next.
    private static func anchors(
        endingOf path: inout [Certificate], in receipt: Span<UInt8>, _ trustStore: TrustStore
    ) throws(ReceiptError) -> [(TrustAnchor, OwnedCertificate)] {
        guard let last = path.last else { throw ReceiptError(.signerCertificateMissing) }
        if last.isSelfIssued(in: receipt) {
            let root = receipt.extracting(last.encoding)
            guard let anchor = trustStore.anchor(with: Fingerprint(of: root)) else {
                throw ReceiptError(.anchorUntrusted)
            }
            path.removeLast()
            return [(anchor, try OwnedCertificate(receipt.copy(last.encoding)))]
        }
        let anchors = trustStore.anchors(withSubject: receipt.extracting(last.issuer))
        guard !anchors.isEmpty else { throw ReceiptError(.issuerCertificateMissing) }
        return anchors
    }
}
