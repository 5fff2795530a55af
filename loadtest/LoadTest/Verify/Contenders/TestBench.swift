// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The authority that signs the samples, and each contender set up to trust it.
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

    /// A worker for one thread.
    func worker(for contender: Contender) -> any ContenderWorker {
        switch contender {
        case .warm: WarmVerifierWorker(verifier: verifier, now: .samplesAreOlder)
        case .cold: ColdVerifierWorker(trustStore: trustStore, now: .samplesAreOlder)
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
        guard samples.all.allSatisfy({ verifier.reads($0, at: .samplesAreOlder) }) else {
            throw RefusedReceipt(contender: .warm, purchases: samples.purchases)
        }
    }
}

extension Timestamp {
    /// The time at which samples are verified.
    static let samplesAreOlder = Timestamp(millisecondsSince1970: Corpus.issuedBefore.secondsSince1970 * 1000)
}
