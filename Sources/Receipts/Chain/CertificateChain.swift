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

    /// Verifies the container's certificates. Everything that costs no cryptography is checked before what does, and a
    /// key is used only after its certificate was verified.
    init(_ container: SignedData, in receipt: Span<UInt8>, trustStore: TrustStore) throws(ReceiptError) {
        let path = try CertificatePath(container, in: receipt, trustStore: trustStore)
        environments = try path.permittedEnvironments()
        key = try path.verifySignatures(in: receipt)
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

    /// Verifies each certificate under the one above it, from the anchor down, and returns the signer's key.
    fileprivate func verifySignatures(in receipt: Span<UInt8>) throws(ReceiptError) -> PublicKey {
        var key = try anchorCertificate.fields.verificationKey(in: anchorCertificate.bytes.span)
        for certificate in certificates.reversed() {
            guard let digest = certificate.signatureAlgorithm?.digest else {
                throw ReceiptError(.certificateSignatureAlgorithmUnsupported)
            }
            let signature = receipt.extracting(certificate.signature)
            guard key.verifies(signature, over: receipt.extracting(certificate.tbsCertificate), digest) else {
                throw ReceiptError(.certificateSignatureInvalid)
            }
            key = try certificate.verificationKey(in: receipt)
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

    fileprivate func verificationKey(in bytes: Span<UInt8>) throws(ReceiptError) -> PublicKey {
        guard let key = PublicKey(subjectPublicKeyInfo: bytes.extracting(publicKey.encoding)) else {
            throw ReceiptError(.certificateMalformed)
        }
        return key
    }
}
