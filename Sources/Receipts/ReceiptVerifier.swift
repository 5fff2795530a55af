// SPDX-License-Identifier: Apache-2.0

/// The time limits of a verifier, and the weak keys it accepts.
public struct VerificationPolicy: Hashable, Sendable {
    /// The time after a certificate's expiry in which a receipt may still have been created with it. Apple embedded an
    /// intermediate for hours after it expired on 2023-02-07.
    public var expiryGrace: Duration = .seconds(24 * 3600)
    /// The time by which a creation or signing date may lie in the future, for clocks that disagree.
    public var clockSkew: Duration = .seconds(300)
    /// True to accept transaction receipts of version 2, which Apple signed until 2016. Their RSA-1024 keys and SHA-1
    /// are within reach of an attacker with means, so rejecting them is safer.
    public var acceptsTransactionReceiptVersion2 = false

    /// Creates the default policy.
    public init() {}
}

/// The limits for one receipt. Each is checked before the work it bounds.
///
/// Genuine receipts measure 4.7 to 79 KB; one of 5,004,203 bytes is on record. The defaults leave room above both.
public struct Limits: Hashable, Sendable {
    /// Bytes of one receipt, after base64.
    public var maximumReceiptBytes = 9 << 20
    /// Certificates in one container; genuine receipts have three.
    public var maximumCertificates = 6
    /// Attributes in one set beyond the 64 types Apple uses, purchases not counted; genuine receipts have none.
    public var maximumOtherAttributes = 512
    /// In-app purchases in one receipt.
    public var maximumPurchases = 20_000
    /// Bytes of one JWS as text. Genuine transactions have about 5 KB, notifications about 19 KB.
    public var maximumJWSBytes = 256 << 10
    /// Bytes of one JWS header as text; genuine headers have about 4.3 KB.
    public var maximumJWSHeaderBytes = 32 << 10
    /// Claims of one payload; genuine transactions have about 25.
    public var maximumClaims = 256
    /// Bytes of one transaction receipt (iOS 6), after base64; genuine receipts have about 4 KB.
    public var maximumTransactionReceiptBytes = 64 << 10
    /// Fields of one property list in a transaction receipt; genuine lists have about 20.
    public var maximumTransactionReceiptFields = 64
    /// Nesting of the Xcode BER form; DER is read without recursion and needs no such limit.
    public var maximumDepth = 16

    /// Creates the default limits.
    public init() {}
}

/// Verifies that Apple signed a receipt. Create one and share it: it caches verified certificate chains.
///
/// ```swift
/// import Receipts
///
/// let verifier = ReceiptVerifier()
///
/// func show(_ text: String) throws {
///     let receipt = try verifier.verify(Base64.decode(text), at: .now())
///     print(receipt.bundleID, receipt.purchases.count)
/// }
/// ```
public final class ReceiptVerifier: Sendable {
    /// The trusted roots.
    public let trustStore: TrustStore
    /// The time limits.
    public let policy: VerificationPolicy
    /// The limits for one receipt.
    public let limits: Limits
    package let onNewChain: @Sendable (VerifiedChainInfo) -> Void
    package let onIgnoredClaim: @Sendable (String) -> Void
    private let chains = ChainCache()
    let headers = ChainCache()
    let verifiedCertificates = VerifiedCertificates()
    let transactionReceiptChains: TransactionReceiptChains
    private let acceptsXcode: Bool

    /// Creates a verifier, by default for receipts signed by Apple.
    /// - Parameters:
    ///   - trustStore: the roots to trust, each for its environments.
    ///   - policy: the time limits, and the weak keys that are accepted.
    ///   - limits: the limits for one receipt or JWS.
    ///   - onNewChain: called for each chain verified for the first time; Apple's change about once a year.
    ///   - onIgnoredClaim: receives the name of each signed claim of an undocumented form that decides nothing.
    public init(
        trustStore: TrustStore = .apple, policy: VerificationPolicy = VerificationPolicy(), limits: Limits = Limits(),
        onNewChain: @escaping @Sendable (VerifiedChainInfo) -> Void = { _ in },
        onIgnoredClaim: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.onNewChain, self.onIgnoredClaim) = (onNewChain, onIgnoredClaim)
        (self.trustStore, self.policy, self.limits) = (trustStore, policy, limits)
        (transactionReceiptChains, acceptsXcode) = (TransactionReceiptChains(trustStore), trustStore.acceptsXcode)
    }

    /// Returns a verifier that trusts other roots, with all else as here. No verified chain is known to it.
    package func trusting(_ trustStore: TrustStore) -> ReceiptVerifier {
        ReceiptVerifier(
            trustStore: trustStore, policy: policy, limits: limits, onNewChain: onNewChain,
            onIgnoredClaim: onIgnoredClaim)
    }

    /// Verifies a receipt after base64: its form, its signer's chain, its signature and its fields.
    ///
    /// - Parameters:
    ///   - bytes: the receipt in DER; also in Xcode's BER form if an anchor for environment Xcode is trusted.
    ///   - now: the present time, to reject receipts from the future.
    /// - Throws: the first rule the receipt breaks.
    public func verify(_ bytes: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        try verify(UnverifiedReceipt(bytes, acceptsBER: acceptsXcode, limits: limits), at: now)
    }

    /// Verifies a parsed receipt: its signer's chain, its signature and its fields.
    public func verify(_ receipt: UnverifiedReceipt, at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        let chain = try chain(of: receipt), signer = receipt.container.signer
        let span = receipt.der.span, content = receipt.container.eContent
        // RFC 5652 §5.4: without signed attributes the signature covers just the content's bytes.
        let isValid = try chain.key.verifies(
            span.extracting(signer.signature), over: span.extracting(content), signer.signatureAlgorithm)
        guard isValid else { throw ReceiptError(.signatureInvalid) }
        // Only signed content is read from here on, so no hostile payload reaches the field reader.
        let fields = try ReceiptFields(
            span, in: content, acceptsOffsets: chain.environments.contains(.xcode), limits: limits)
        try chain.validity.check(at: fields.creationDate, grace: policy.expiryGrace)
        let environment = try environment(of: fields, in: receipt, permitted: chain.environments)
        guard fields.creationDate <= now.advanced(by: policy.clockSkew) else {
            throw ReceiptError(.creationDateInFuture)
        }
        return VerifiedReceipt(
            environment: environment, der: receipt.der, ber: receipt.ber, content: content, fields: fields)
    }

    private func chain(of receipt: UnverifiedReceipt) throws(ReceiptError) -> CertificateChain {
        let container = receipt.container, signer = container.signer
        let name = SignerIdentifier.issuerAndSerialNumber(issuer: signer.issuer, serialNumber: signer.serialNumber)
        let certificates = SignerCertificates(receipt.der.span, at: container.certificates, signer: name)
        if let known = chains.chain(of: certificates) { return known }
        let chain = try CertificateChain(
            certificates, for: SignerPurpose(algorithm: signer.signatureAlgorithm), trustStore: trustStore,
            verified: verifiedCertificates)
        if chains.insert(chain, of: certificates) { onNewChain(chain.info) }
        return chain
    }

    private func environment(
        of fields: ReceiptFields, in receipt: UnverifiedReceipt, permitted: Set<Environment>
    ) throws(ReceiptError) -> Environment {
        guard let environment = Environment(receiptType: receipt.der.span.extracting(fields.receiptType.range)) else {
            throw ReceiptError(.receiptTypeUnknown)
        }
        guard permitted.contains(environment), !receipt.wasBER || environment == .xcode else {
            throw ReceiptError(.environmentNotAllowed)
        }
        return environment
    }
}
