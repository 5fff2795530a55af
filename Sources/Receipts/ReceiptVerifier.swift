// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a verifier demands of time.
public struct VerificationPolicy: Hashable, Sendable {
    /// How long after a certificate's end a receipt may still have been made with it. Apple embedded an intermediate
    /// for hours after it expired on 2023-02-07.
    public var expiryGrace: Duration = .seconds(24 * 3600)
    /// How far in the future a creation date may lie, for clocks that disagree.
    public var clockSkew: Duration = .seconds(300)

    /// The default policy.
    public init() {}
}

/// Decides whether Apple signed a receipt. Make one and share it: it remembers certificate chains it has verified.
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
    /// The roots that are trusted.
    public let trustStore: TrustStore
    /// What is demanded of time.
    public let policy: VerificationPolicy
    /// What one receipt may ask for.
    public let limits: Limits
    private let onNewChain: @Sendable (VerifiedChainInfo) -> Void
    private let chains = ChainCache()
    private let verifiedCertificates = VerifiedCertificates()

    /// A verifier, by default of receipts signed by Apple.
    /// - Parameter onNewChain: told of each chain that was verified for the first time: Apple's change about once a year.
    public init(
        trustStore: TrustStore = .apple, policy: VerificationPolicy = VerificationPolicy(), limits: Limits = Limits(),
        onNewChain: @escaping @Sendable (VerifiedChainInfo) -> Void = { _ in }
    ) {
        self.onNewChain = onNewChain
        self.trustStore = trustStore
        self.policy = policy
        self.limits = limits
    }

    /// Verifies a receipt after base64: its form, its signer's chain, its signature, its fields.
    ///
    /// - Parameters:
    ///   - bytes: the receipt in DER; also in Xcode's BER form if an anchor for environment Xcode is trusted.
    ///   - now: the time, for receipts from the future.
    /// - Returns: what Apple signed.
    /// - Throws: the first rule the receipt breaks.
    public func verify(_ bytes: [UInt8], at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        try verify(UnverifiedReceipt(bytes, acceptsBER: trustStore.acceptsXcode, limits: limits), at: now)
    }

    /// Verifies a receipt whose form was read: its signer's chain, its signature, its fields.
    public func verify(_ receipt: UnverifiedReceipt, at now: Timestamp) throws(ReceiptError) -> VerifiedReceipt {
        let chain = try chain(of: receipt)
        try checkSignature(of: receipt, by: chain)
        // Only what was signed is read from here on, so no hostile payload ever reaches the reader of fields.
        let fields = try ReceiptFields(
            receipt.der.span, in: receipt.container.eContent,
            acceptsOffsets: chain.environments.contains(.xcode), limits: limits)
        try chain.validity.check(at: fields.creationDate, grace: policy.expiryGrace)
        let environment = try environment(of: fields, in: receipt, permitted: chain.environments)
        guard fields.creationDate <= now.advanced(by: policy.clockSkew) else {
            throw ReceiptError(.creationDateInFuture)
        }
        return VerifiedReceipt(
            der: receipt.der, ber: receipt.ber, content: receipt.container.eContent, fields: fields,
            environment: environment)
    }

    private func chain(of receipt: UnverifiedReceipt) throws(ReceiptError) -> CertificateChain {
        let certificates = receipt.container.signerCertificates(in: receipt.der.span)
        if let known = chains.chain(of: certificates) { return known }
        let chain = try CertificateChain(
            certificates, for: receipt.container.signer.signatureAlgorithm, trustStore: trustStore,
            verified: verifiedCertificates)
        if chains.insert(chain, of: certificates) { onNewChain(chain.info) }
        return chain
    }

    /// RFC 5652 §5.4: without signed attributes the signature covers the content's octets.
    private func checkSignature(
        of receipt: UnverifiedReceipt, by chain: CertificateChain
    ) throws(ReceiptError) {
        let span = receipt.der.span, signer = receipt.container.signer
        let isValid = try chain.key.verifies(
            span.extracting(signer.signature), over: span.extracting(receipt.container.eContent),
            signer.signatureAlgorithm)
        guard isValid else { throw ReceiptError(.signatureInvalid) }
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
