// SPDX-License-Identifier: Apache-2.0

extension ReceiptVerifier {
    /// Verifies a transaction receipt, as in iOS 6: its form, its signer's chain, its signature and its fields.
    ///
    /// The time of the signature is not signed. The chain is checked at the purchase date, or at the beginning of the
    /// signer's certificate if that is later: Apple signs again long after a purchase, and never before it.
    ///
    /// - Parameters:
    ///   - transactionReceipt: the property list, after base64.
    ///   - now: the present time, to reject receipts from the future.
    /// - Throws: the first rule the receipt breaks.
    public func verify(
        transactionReceipt: [UInt8], at now: Timestamp
    ) throws(ReceiptError) -> VerifiedTransactionReceipt {
        let receipt = try UnverifiedTransactionReceipt(transactionReceipt, limits: limits)
        let version = receipt.signature.version
        guard version != .two || policy.acceptsTransactionReceiptVersion2 else { throw ReceiptError(.keyTooSmall) }
        let chains = transactionReceiptChains, cache = chains.cache(for: version)
        let known = cache.chain(of: receipt.certificates)
        let chain: CertificateChain
        if let known { chain = known } else { chain = try chains.newChain(of: receipt, verified: verifiedCertificates) }
        guard
            let identity = try chain.key.identity(
                of: receipt.content.span, signedBy: receipt.signature.rsaSignature, version.algorithm)
        else { throw ReceiptError(.signatureInvalid) }
        // Only now, so that only holders of a trusted key can add a chain.
        if known == nil, cache.insert(chain, of: receipt.certificates) { onNewChain(chain.info) }
        // Only signed content is read from here on.
        let info = try PurchaseInfo(receipt.content.span, limits: limits)
        try check(info.purchaseDate, under: chain, at: now)
        return VerifiedTransactionReceipt(
            receipt, identity: identity, info: info,
            environment: chain.environments.contains(.production) ? nil : .sandbox)
    }

    private func check(
        _ purchaseDate: Timestamp, under chain: CertificateChain, at now: Timestamp
    ) throws(ReceiptError) {
        let earliestSigning = max(purchaseDate, chain.signerValidity.notBefore)
        try chain.validity.check(at: earliestSigning, grace: policy.expiryGrace)
        guard purchaseDate <= now.advanced(by: policy.clockSkew + Self.renewalLead) else {
            throw ReceiptError(.purchaseDateInFuture)
        }
    }

    /// Apple renews subscriptions up to a day before the new period, whose beginning is the purchase date.
    private static let renewalLead = Duration.seconds(24 * 3600)
}

/// The chains of transaction receipts: verified chains, by the signer's certificate, and the means to verify further
/// chains.
struct TransactionReceiptChains: Sendable {
    /// Other intermediates of Apple's are rarely needed, and each costs a forged receipt one RSA verification.
    private static let maximumIntermediatesOfOneName = 4

    /// The trust store with Apple's root certificate, if it trusts that root.
    private let trustStore: TrustStore
    /// Apple's, then the operator's.
    private let intermediates: [OwnedCertificate]
    /// Two caches, because the certificates of version 2 serve another purpose.
    private let version2 = ChainCache()
    private let laterVersions = ChainCache()

    init(_ trustStore: TrustStore) {
        self.trustStore = trustStore.withAppleRootCertificate
        intermediates =
            AppleCertificates.intermediates.compactMap { try? OwnedCertificate($0) } + trustStore.intermediates
    }

    func cache(for version: TransactionReceiptVersion) -> ChainCache { version == .two ? version2 : laterVersions }

    /// Verifies the signer's certificate under each intermediate that may have issued it. Throws the last failure.
    func newChain(
        of receipt: UnverifiedTransactionReceipt, verified: VerifiedCertificates
    ) throws(ReceiptError) -> CertificateChain {
        let leaf = try OwnedCertificate(receipt.signerCertificate())
        var failure = ReceiptError(.issuerCertificateMissing)
        for intermediate in issuers(of: leaf) {
            do throws(ReceiptError) {
                return try chain(leaf, intermediate, for: receipt.signature.version.purpose, verified: verified)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private func issuers(of leaf: OwnedCertificate) -> ArraySlice<OwnedCertificate> {
        let issuer = leaf.bytes.span.extracting(leaf.fields.issuer)
        return intermediates.filter { $0.subject.equals(issuer) }.prefix(Self.maximumIntermediatesOfOneName)
    }

    private func chain(
        _ leaf: OwnedCertificate, _ intermediate: OwnedCertificate, for purpose: SignerPurpose,
        verified: VerifiedCertificates
    ) throws(ReceiptError) -> CertificateChain {
        let bytes = leaf.bytes + intermediate.bytes
        let encodings = [0..<leaf.bytes.count, leaf.bytes.count..<bytes.count]
        let chain = try CertificateChain(
            SignerCertificates(bytes.span, at: encodings, signer: .first), for: purpose, trustStore: trustStore,
            verified: verified)
        guard !chain.environments.isDisjoint(with: [.production, .sandbox]) else {
            throw ReceiptError(.environmentNotAllowed)
        }
        return chain
    }
}

extension TrustStore {
    /// Adds intermediates of transaction receipts from a PEM text (RFC 7468), beside Apple's three, which are known.
    ///
    /// They are not trusted: each is verified under a trust anchor. Of one name, the first four are used, Apple's among
    /// them. Other receipts and signed transactions carry their intermediates.
    public mutating func add(intermediatesPEM pem: String) throws(TrustAnchorError) {
        for der in try PEM.certificates(in: pem) { intermediates.append(try intermediate(der)) }
    }

    private func intermediate(_ der: [UInt8]) throws(TrustAnchorError) -> OwnedCertificate {
        do throws(ReceiptError) {
            return try OwnedCertificate(der)
        } catch {
            throw .certificateUnusable(error.rule)
        }
    }

    /// The same store, where Apple Inc. Root CA closes chains without a root if its fingerprint is trusted.
    fileprivate var withAppleRootCertificate: TrustStore {
        var store = self
        if let root = try? TrustAnchor(der: AppleCertificates.root, environments: []),
            anchor(with: root.fingerprint) != nil
        {
            store.add(root)
        }
        return store
    }
}
