// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A signer whose certificates were verified up to a trust anchor.
struct CertificateChain: Sendable {
    let key: PublicKey
    /// The period in which every certificate of the chain is valid, the anchor included.
    let validity: Validity
    let environments: Set<Environment>
    let info: VerifiedChainInfo

    /// Verifies the certificates of a signature made with this algorithm. Checks without cryptography come first, and a
    /// key is used only after its certificate was verified.
    init(
        _ certificates: borrowing SignerCertificates, for algorithm: SignatureAlgorithm, trustStore: TrustStore,
        verified: VerifiedCertificates
    ) throws(ReceiptError) {
        let paths = try CertificatePath.paths(certificates, trustStore: trustStore)
        var failure = ReceiptError(.issuerCertificateMissing)
        for path in paths {
            do throws(ReceiptError) {
                self = try Self(path, in: certificates.bytes, for: algorithm, verified)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private init(
        _ path: CertificatePath, in bytes: Span<UInt8>, for algorithm: SignatureAlgorithm,
        _ verified: VerifiedCertificates
    ) throws(ReceiptError) {
        environments = try path.permittedEnvironments()
        try path.checkKeyKinds(for: algorithm)
        key = try path.verifySignatures(in: bytes, verified)
        info = VerifiedChainInfo(path, in: bytes)
        validity = path.certificates.reduce(path.anchorCertificate.fields.validity) { $0.intersection($1.validity) }
    }
}

extension CertificatePath {
    /// Checks each certificate's purpose (RFC 5280 §6.1.4; Apple's markers) and returns what the signer may sign.
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

    /// Accepts Xcode's one self-signed certificate, which is no authority and has no marker, for Xcode only.
    private func environmentsOfSelfSigned(_ root: Certificate) throws(ReceiptError) -> Set<Environment> {
        guard anchor.environments.contains(.xcode) else { throw ReceiptError(.leafMarkerMissing) }
        try root.publicKey.check()
        return [.xcode]
    }

    /// Requires keys of one kind from the signer up to the root, as Apple's are. P-384 takes more than twenty times as
    /// long as RSA, so a forged receipt below Apple's P-384 certificates would cost more than an honest one.
    fileprivate func checkKeyKinds(for algorithm: SignatureAlgorithm) throws(ReceiptError) {
        for certificate in certificates + [anchorCertificate.fields] {
            guard certificate.publicKey.isRSA == algorithm.isRSA else { throw ReceiptError(.keyAlgorithmMismatch) }
        }
    }

    /// Verifies each certificate under the one above it, from the anchor down, and returns the signer's key. Results
    /// are cached: a forged leaf under a genuine intermediate costs one verification.
    fileprivate func verifySignatures(
        in bytes: Span<UInt8>, _ verified: VerifiedCertificates
    ) throws(ReceiptError) -> PublicKey {
        let root = anchorCertificate.bytes.span
        var issuer = anchor.fingerprint
        var key = try verified.key(of: issuer, below: issuer) { () throws(ReceiptError) in
            try anchorCertificate.fields.publicKey.publicKey(in: root)
        }
        for certificate in certificates.reversed() {
            let fingerprint = Fingerprint(of: bytes.extracting(certificate.encoding))
            let issuerKey = key
            key = try verified.key(of: fingerprint, below: issuer) { () throws(ReceiptError) in
                try certificate.checkSignature(under: issuerKey, in: bytes)
                return try certificate.publicKey.publicKey(in: bytes)
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
        guard let algorithm = signatureAlgorithm else { throw ReceiptError(.certificateSignatureAlgorithmUnsupported) }
        let body = bytes.extracting(tbsCertificate)
        guard try key.verifies(bytes.extracting(signature), over: body, algorithm) else {
            throw ReceiptError(.certificateSignatureInvalid)
        }
    }
}
