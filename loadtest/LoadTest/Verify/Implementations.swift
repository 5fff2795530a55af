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

/// A receipt to verify, and the parts of it that the crypto floor works on.
///
/// A class, so that handing one to an implementation costs one reference and no more.
final class SampleReceipt: Sendable {
    let der: [UInt8]
    /// The receipt as requests carry it.
    let base64: [UInt8]
    let content: [UInt8]
    let signature: [UInt8]
    let bundleID: String
    let purchases: Int

    /// Takes a receipt apart with OpenSSL, so that the floor depends on no other parser; nil if OpenSSL cannot.
    init?(der: [UInt8], bundleID: String, purchases: Int) {
        guard let message = CMSMessage(der: der), let content = message.content, let signature = message.signature
        else { return nil }
        self.der = der
        base64 = Array(ForgedEvidence.der(der).base64.utf8)
        self.content = content
        self.signature = signature
        self.bundleID = bundleID
        self.purchases = purchases
    }
}

/// Distinct receipts with the same number of purchases, at least one.
struct SampleReceipts: Sendable {
    let purchases: Int
    let all: [SampleReceipt]

    var meanByteCount: Int { mean(of: \.der.count) }
    var meanBase64ByteCount: Int { mean(of: \.base64.count) }

    private func mean(of size: KeyPath<SampleReceipt, Int>) -> Int {
        all.map { $0[keyPath: size] }.reduce(0, +) / all.count
    }
}

extension SampleReceipts {
    /// Makes receipts; the same seed gives the same ones.
    init(count: Int, purchases: Int, signedBy pki: ForgedPKI, seed: UInt64) throws(SampleError) {
        self.purchases = purchases
        var receipts: [SampleReceipt] = []
        for number in 1...count {
            var generator = SplitMix64(seed: seed, purpose: "\(purchases) purchases, receipt \(number)")
            let contents = ReceiptContents.random(using: &generator, purchases: purchases)
            let receipt = SampleReceipt(
                der: pki.sign(contents), bundleID: contents.bundleID, purchases: contents.purchases.count)
            guard let receipt else { throw SampleError() }
            receipts.append(receipt)
        }
        all = receipts
    }
}

/// OpenSSL does not read the forge's receipts.
struct SampleError: Error, Hashable, CustomStringConvertible {
    var description: String { "OpenSSL cannot read a receipt that was just made; this is a bug, please report it." }
}
