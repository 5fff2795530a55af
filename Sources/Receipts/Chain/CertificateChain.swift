// SPDX-License-Identifier: Apache-2.0

/// A signer whose certificates were verified up to a trust anchor.
package struct CertificateChain: Sendable {
    package let key: PublicKey
    /// The period in which every certificate of the chain is valid, the anchor included.
    package let validity: Validity
    package let environments: Set<Environment>
    package let info: VerifiedChainInfo
    /// The period in which the signer's own certificate is valid.
    let signerValidity: Validity
    /// True if the anchor is pinned by its fingerprint, as Apple's roots are.
    package let isPinned: Bool

    /// Verifies the certificates of a signer. Checks without cryptography come first, and a key is used only after its
    /// certificate was verified.
    init(
        _ certificates: borrowing SignerCertificates, for purpose: SignerPurpose, trustStore: TrustStore,
        verified: VerifiedCertificates
    ) throws(ReceiptError) {
        let paths = try CertificatePath.paths(certificates, trustStore: trustStore)
        var failure = ReceiptError(.issuerCertificateMissing)
        for path in paths {
            do throws(ReceiptError) {
                self = try Self(path, in: certificates.bytes, for: purpose, verified)
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private init(
        _ path: CertificatePath, in bytes: Span<UInt8>, for purpose: SignerPurpose, _ verified: VerifiedCertificates
    ) throws(ReceiptError) {
        environments = try path.permittedEnvironments(for: purpose)
        try path.checkKeyKinds(for: purpose.algorithm)
        key = try path.verifySignatures(in: bytes, verified)
        info = VerifiedChainInfo(path, in: bytes)
        let root = path.anchorCertificate.fields.validity
        signerValidity = path.certificates.first?.validity ?? root
        validity = path.certificates.reduce(root) { $0.intersection($1.validity) }
        isPinned = path.anchor.isPinned
    }
}

/// The purpose that a signer's certificates must have.
struct SignerPurpose: Hashable, Sendable {
    let algorithm: SignatureAlgorithm
    // The defaults are for receipts and signed transactions.
    var leafMarker = Marker.receiptSigning
    var intermediateMarker = Marker.intermediate
    /// The minimum bits of the signer's key if it is an RSA key.
    var minimumSignerBits = 2048

    /// Transaction receipts of version 2, until 2016: the signer's key has 1024 bits.
    static let transactionReceiptVersion2 = SignerPurpose(
        algorithm: .sha1WithRSA, leafMarker: .storeReceiptSigning, intermediateMarker: .storeIntermediate,
        minimumSignerBits: 1024)
}

extension CertificatePath {
    /// Checks each certificate's purpose (RFC 5280 §6.1.4; Apple's markers) and returns what the signer may sign.
    fileprivate func permittedEnvironments(for purpose: SignerPurpose) throws(ReceiptError) -> Set<Environment> {
        let root = anchorCertificate.fields
        guard let leaf = certificates.first else { return try environmentsOfSelfSigned(root) }
        try leaf.checkSigns(for: purpose)
        for (index, issuer) in (certificates.dropFirst() + [root]).enumerated() {
            if index == 0, !issuer.extensions.markers.contains(purpose.intermediateMarker) {
                throw ReceiptError(.intermediateMarkerMissing)
            }
            try issuer.checkIssues(intermediatesBelow: index, isAnchor: index == certificates.count - 1)
        }
        return anchor.environments
    }

    /// Accepts Xcode's one self-signed certificate, which is no authority and has no marker, where Apple does not sign.
    private func environmentsOfSelfSigned(_ root: Certificate) throws(ReceiptError) -> Set<Environment> {
        let environments = anchor.environments.filter { !$0.isApples }
        guard !environments.isEmpty else { throw ReceiptError(.leafMarkerMissing) }
        try root.publicKey.check()
        return environments
    }

    /// Requires keys of one kind from the signer up to the root, as Apple's are. P-384 takes more than twenty times as
    /// long as RSA, so a forged receipt below Apple's P-384 certificates would cost more than an honest receipt.
    fileprivate func checkKeyKinds(for algorithm: SignatureAlgorithm) throws(ReceiptError) {
        for certificate in certificates + [anchorCertificate.fields] {
            guard certificate.publicKey.isRSA == algorithm.isRSA else { throw ReceiptError(.keyAlgorithmMismatch) }
        }
        let signer = certificates.first ?? anchorCertificate.fields
        // RFC 7518 §3.4: ES256 is made with keys on P-256.
        guard algorithm != .es256 || signer.publicKey.curve == .p256 else { throw ReceiptError(.keyAlgorithmMismatch) }
    }

    /// Verifies each certificate under the certificate above it, from the anchor down, and returns the signer's key.
    /// Results are cached: a forged leaf under a genuine intermediate costs one verification.
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
    fileprivate func checkSigns(for purpose: SignerPurpose) throws(ReceiptError) {
        guard !extensions.isCA else { throw ReceiptError(.leafIsCA) }
        guard extensions.markers.contains(purpose.leafMarker) else { throw ReceiptError(.leafMarkerMissing) }
        guard extensions.keyUsage?.allowsSignatures ?? true else { throw ReceiptError(.keyUsageViolation) }
        guard !extensions.hasUnknownCriticalExtension else { throw ReceiptError(.criticalExtensionUnknown) }
        try publicKey.check(minimumBits: purpose.minimumSignerBits)
    }

    fileprivate func checkIssues(intermediatesBelow count: Int, isAnchor: Bool) throws(ReceiptError) {
        // RFC 5280 §6.1.1: a trust anchor is trusted as it is, also one too old to say that it is an authority.
        guard extensions.isCA || (isAnchor && isVersion1) else { throw ReceiptError(.issuerNotCA) }
        guard Int64(count) <= extensions.pathLength ?? .max else { throw ReceiptError(.pathLengthExceeded) }
        guard extensions.keyUsage?.allowsSigningCertificates ?? true else { throw ReceiptError(.keyUsageViolation) }
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
