// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signer whose certificates were verified up to a trust anchor: what remains of a chain once it is trusted.
struct CertificateChain: Sendable {
    /// The signer's key.
    let key: PublicKey
    /// When every certificate of the chain, the anchor included, is valid.
    let validity: Validity
    /// The environments whose receipts the signer may sign.
    let environments: Set<Environment>
    /// What it is made of.
    let sight: SeenChain

    /// Verifies the container's certificates. Everything that costs no cryptography is checked before what does, and a
    /// key is used only after its certificate was verified.
    init(
        _ container: SignedData, in receipt: Span<UInt8>, trustStore: TrustStore, verified: VerifiedCertificates
    ) throws(ReceiptError) {
        let paths = try CertificatePath.paths(container, in: receipt, trustStore: trustStore)
        var failure = ReceiptError(.issuerCertificateMissing)
        for path in paths {
            do throws(ReceiptError) {
                self = try Self(path, in: receipt, verified)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private init(
        _ path: CertificatePath, in receipt: Span<UInt8>, _ verified: VerifiedCertificates
    ) throws(ReceiptError) {
        environments = try path.permittedEnvironments()
        key = try path.verifySignatures(in: receipt, verified)
        sight = SeenChain(path, in: receipt)
        validity = path.certificates.reduce(path.anchorCertificate.fields.validity) { $0.intersection($1.validity) }
    }
}

extension CertificatePath {
    /// Checks what each certificate is for (RFC 5280 §6.1.4; Apple's markers), and says what the signer may sign.
    fileprivate func permittedEnvironments() throws(ReceiptError) -> Set<Environment> {
        let root = anchorCertificate.fields
        guard let leaf = certificates.first else { return try environmentsOfSelfSigned(root) }
        try leaf.checkSignsReceipts()
        for (index, issuer) in (certificates.dropFirst() + [root]).enumerated() {
            if index == 0, !issuer.extensions.hasIntermediateMarker { throw ReceiptError(.intermediateMarkerMissing) }
            try issuer.checkIssues(intermediatesBelow: index)
        }
        return anchor.environments
    }

    /// Xcode signs with one self-signed certificate, which is no authority and has no marker. It counts for Xcode only.
    private func environmentsOfSelfSigned(_ root: Certificate) throws(ReceiptError) -> Set<Environment> {
        guard anchor.environments.contains(.xcode) else { throw ReceiptError(.leafMarkerMissing) }
        try root.publicKey.check()
        return [.xcode]
    }

    /// Verifies each certificate under the one above it, from the anchor down, and returns the signer's key. What was
    /// verified before is not verified again: a forged leaf under a genuine intermediate costs one verification.
    fileprivate func verifySignatures(
        in receipt: Span<UInt8>, _ verified: VerifiedCertificates
    ) throws(ReceiptError) -> PublicKey {
        let root = anchorCertificate.bytes.span
        var issuer = anchor.fingerprint
        var key = try verified.key(of: issuer, below: issuer) { () throws(ReceiptError) in
            try anchorCertificate.fields.publicKey.publicKey(in: root)
        }
        for certificate in certificates.reversed() {
            let fingerprint = Fingerprint(of: receipt.extracting(certificate.encoding))
            let issuerKey = key
            key = try verified.key(of: fingerprint, below: issuer) { () throws(ReceiptError) in
                try certificate.checkSignature(under: issuerKey, in: receipt)
                return try certificate.publicKey.publicKey(in: receipt)
            }
            issuer = fingerprint
        }
        return key
    }
}

extension Certificate {
    fileprivate func checkSignsReceipts() throws(ReceiptError) {
        guard !extensions.isCA else { throw ReceiptError(.leafIsCA) }
        guard extensions.hasReceiptSigningMarker else { throw ReceiptError(.leafMarkerMissing) }
        guard extensions.keyUsage?.allowsSignatures ?? true else { throw ReceiptError(.keyUsageViolation) }
        try checkKeyAndExtensions()
    }

    fileprivate func checkIssues(intermediatesBelow count: Int) throws(ReceiptError) {
        guard extensions.isCA else { throw ReceiptError(.issuerNotCA) }
        guard Int64(count) <= extensions.pathLength ?? .max else { throw ReceiptError(.pathLengthExceeded) }
        guard extensions.keyUsage?.allowsSigningCertificates ?? true else { throw ReceiptError(.keyUsageViolation) }
        try checkKeyAndExtensions()
    }

    private func checkKeyAndExtensions() throws(ReceiptError) {
        guard !extensions.hasUnknownCriticalExtension else { throw ReceiptError(.criticalExtensionUnknown) }
        try publicKey.check()
    }

    fileprivate func checkSignature(under key: PublicKey, in bytes: Span<UInt8>) throws(ReceiptError) {
        guard let digest = signatureAlgorithm?.digest else {
            throw ReceiptError(.certificateSignatureAlgorithmUnsupported)
        }
        guard key.verifies(bytes.extracting(signature), over: bytes.extracting(tbsCertificate), digest) else {
            throw ReceiptError(.certificateSignatureInvalid)
        }
    }
}
