// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// One of the programs that are measured side by side.
enum Implementation: String, CaseIterable, Encodable, Sendable {
    /// `ReceiptVerifier.verify` with the signer's chain remembered.
    case warm
    /// `ReceiptVerifier.verify` with nothing remembered.
    case cold
    /// The crypto floor: one digest of the signed bytes and one RSA verification, nothing parsed.
    case floor
    /// OpenSSL's `d2i_CMS_bio` and `CMS_verify`.
    case cmsVerify
    /// Decoding the receipt's base64 text, which comes before all of these and is in none of them.
    case base64

    /// The name in error messages.
    var name: String {
        switch self {
        case .warm: "the verifier with a warm chain"
        case .cold: "the verifier with a cold chain"
        case .floor: "the crypto floor"
        case .cmsVerify: "CMS_verify"
        case .base64: "the base64 decoder"
        }
    }
}

/// An implementation rejected a genuine receipt; its speed would mean nothing.
struct RefusedReceipt: Error, Hashable, CustomStringConvertible {
    let implementation: Implementation
    /// The number of purchases in the receipt.
    let purchases: Int

    var description: String {
        "\(implementation.name) rejected a genuine receipt of \(purchases) purchases; nothing was measured."
    }
}

extension SampleReceipt {
    /// True if its text can be decoded, and to these bytes.
    fileprivate var isDecoded: Bool {
        let text = base64
        guard let decoded = try? Base64.decode(text.span) else { return false }
        return decoded.count == der.count && decoded.last == der.last
    }
}

extension ReceiptVerifier {
    /// Returns true if the receipt is genuine and has the purchases it was made with.
    fileprivate func accepts(_ receipt: SampleReceipt) -> Bool {
        guard let verified = try? verify(receipt.der, at: Corpus.issuedBefore.timestamp) else { return false }
        return verified.purchases.count == receipt.purchases
    }

    /// Returns true if the receipt is genuine and was issued for the app it was made for.
    fileprivate func reads(_ receipt: SampleReceipt) -> Bool {
        (try? verify(receipt.der, at: Corpus.issuedBefore.timestamp))?.isIssued(forBundleID: receipt.bundleID) ?? false
    }
}

/// The authority that signs the samples, and the parts of all implementations, which trust it.
struct TestBench: Sendable {
    let pki: ForgedPKI
    private let trustStore: TrustStore
    private let verifier: ReceiptVerifier
    private let signerKey: SignerKey
    private let roots: RootStore

    /// Makes the authority of this seed.
    init(seed: UInt64) throws {
        pki = ForgedPKI(seed: seed)
        var trustStore = TrustStore(anchors: [])
        try trustStore.add(pem: pki.rootPEM, environments: [.sandbox])
        self.trustStore = trustStore
        verifier = ReceiptVerifier(trustStore: trustStore)
        guard let root = X509Certificate(der: pki.root.der), let leaf = X509Certificate(der: pki.leaf.der),
            let signerKey = SignerKey(of: leaf)
        else { throw SampleError() }
        roots = RootStore(trusting: root, at: Int(Corpus.issuedBefore.secondsSince1970))
        self.signerKey = signerKey
    }

    /// Returns the work of an implementation for one thread: it verifies a receipt and returns false if that is refused.
    func worker(for implementation: Implementation) -> (SampleReceipt) -> Bool {
        switch implementation {
        // All threads share the verifier, as in a gateway.
        case .warm: return verifier.accepts
        case .cold: return { ReceiptVerifier(trustStore: trustStore).accepts($0) }
        case .floor:
            // Both contexts are set up once, and share nothing with those of other threads.
            let digest = SHA256Context(), signature = SignatureContext(signerKey.copied())
            return { signature.verifies($0.signature, over: digest.digest(of: $0.content)) }
        case .cmsVerify: return { CMSMessage(der: $0.der)?.isVerified(by: roots) ?? false }
        case .base64: return \.isDecoded
        }
    }

    /// Throws unless every implementation accepts every receipt, and the verifier finds the apps they were made for.
    func checkAcceptance(of samples: SampleReceipts) throws(RefusedReceipt) {
        for implementation in Implementation.allCases {
            let worker = worker(for: implementation)
            guard samples.all.allSatisfy(worker) else {
                throw RefusedReceipt(implementation: implementation, purchases: samples.purchases)
            }
        }
        guard samples.all.allSatisfy(verifier.reads) else {
            throw RefusedReceipt(implementation: .warm, purchases: samples.purchases)
        }
    }
}
