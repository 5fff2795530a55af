// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// One of the programs that are measured side by side.
enum Contender: CaseIterable, Hashable, Sendable {
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

/// A contender rejected a genuine receipt; its speed would mean nothing.
struct RefusedReceipt: Error, Hashable, CustomStringConvertible {
    let contender: Contender
    /// The number of purchases in the receipt.
    let purchases: Int

    var description: String {
        "\(contender.name) refused a genuine receipt of \(purchases) purchases; nothing was measured."
    }
}

/// The state of one thread that does a contender's work again and again.
protocol ContenderWorker {
    /// Does the work for one receipt and checks the result.
    func accepts(_ receipt: SampleReceipt) -> Bool
}

/// Verifies with one verifier that all threads share, as a gateway does.
private struct WarmWorker: ContenderWorker {
    let verifier: ReceiptVerifier

    func accepts(_ receipt: SampleReceipt) -> Bool { verifier.accepts(receipt) }
}

/// Verifies each receipt with a verifier of its own, so that every chain is new.
private struct ColdWorker: ContenderWorker {
    let trustStore: TrustStore

    func accepts(_ receipt: SampleReceipt) -> Bool { ReceiptVerifier(trustStore: trustStore).accepts(receipt) }
}

/// Does the least that any verifier must do: it hashes the signed bytes and verifies one RSA-2048 signature. Both contexts
/// are set up once, and share nothing with those of other threads.
private struct FloorWorker: ContenderWorker {
    private let digest = SHA256Context()
    private let signature: SignatureContext

    init(_ key: SignerKey) {
        signature = SignatureContext(key.copied())
    }

    func accepts(_ receipt: SampleReceipt) -> Bool {
        signature.verifies(receipt.signature, over: digest.digest(of: receipt.content))
    }
}

/// Leaves receipts to OpenSSL; the store of roots is made once and shared.
private struct CMSVerifyWorker: ContenderWorker {
    let roots: RootStore

    func accepts(_ receipt: SampleReceipt) -> Bool { CMSMessage(der: receipt.der)?.isVerified(by: roots) ?? false }
}

private struct Base64Worker: ContenderWorker {
    func accepts(_ receipt: SampleReceipt) -> Bool {
        let text = receipt.base64
        guard let der = try? Base64.decode(text.span) else { return false }
        return der.count == receipt.der.count && der.last == receipt.der.last
    }
}

extension ReceiptVerifier {
    /// Returns true if the receipt is genuine and has the purchases it was minted with.
    fileprivate func accepts(_ receipt: SampleReceipt) -> Bool {
        guard let verified = try? verify(receipt.der, at: .samplesAreOlder) else { return false }
        return verified.purchases.count == receipt.purchases
    }

    /// Returns true if the receipt is genuine and was issued for the app it was minted for.
    fileprivate func reads(_ receipt: SampleReceipt) -> Bool {
        (try? verify(receipt.der, at: .samplesAreOlder))?.isIssued(forBundleID: receipt.bundleID) ?? false
    }
}

extension Timestamp {
    /// The time at which samples are verified.
    static let samplesAreOlder = Timestamp(millisecondsSince1970: Corpus.issuedBefore.secondsSince1970 * 1000)
}

/// The authority that signs the samples, and the parts of all contenders, which trust it.
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

    /// Returns a worker for one thread.
    func worker(for contender: Contender) -> any ContenderWorker {
        switch contender {
        case .warm: WarmWorker(verifier: verifier)
        case .cold: ColdWorker(trustStore: trustStore)
        case .floor: FloorWorker(signerKey)
        case .cmsVerify: CMSVerifyWorker(roots: roots)
        case .base64: Base64Worker()
        }
    }

    /// Throws unless every contender accepts every receipt, and the verifier finds the apps they were minted for.
    func checkAcceptance(of samples: SampleReceipts) throws(RefusedReceipt) {
        for contender in Contender.allCases {
            let worker = worker(for: contender)
            guard samples.all.allSatisfy(worker.accepts) else {
                throw RefusedReceipt(contender: contender, purchases: samples.purchases)
            }
        }
        guard samples.all.allSatisfy(verifier.reads) else {
            throw RefusedReceipt(contender: .warm, purchases: samples.purchases)
        }
    }
}
