// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts

/// Shared between tests of transaction receipts.
enum TransactionReceiptSamples {
    static let forge = TransactionReceiptForge(pki: Samples.pki)
    static let contents = forge.contents
    static let receipt = forge.wellFormed

    /// Every fault once, because signing takes time.
    static let faults: [(fault: TransactionReceiptFault, bytes: [UInt8])] = TransactionReceiptFault.allCases.map {
        ($0, forge.evidence(with: $0))
    }

    static func verifier(
        for environments: Set<Environment> = [.sandbox], acceptsVersion2: Bool = false, limits: Limits = Limits(),
        onNewChain: @escaping @Sendable (VerifiedChainInfo) -> Void = { _ in }
    ) throws -> ReceiptVerifier {
        var store = try TrustStore.apple(and: Samples.pki.root, for: environments)
        try store.add(intermediatesPEM: forge.intermediatesPEM)
        var policy = VerificationPolicy()
        policy.acceptsTransactionReceiptVersion2 = acceptsVersion2
        return ReceiptVerifier(trustStore: store, policy: policy, limits: limits, onNewChain: onNewChain)
    }
}

extension ReceiptVerifier {
    /// Returns the broken rule; nil for a genuine transaction receipt.
    func brokenRule(ofTransactionReceipt receipt: [UInt8], at now: Timestamp = Samples.now) -> Rule? {
        do throws(ReceiptError) {
            _ = try verify(transactionReceipt: receipt, at: now)
            return nil
        } catch {
            return error.rule
        }
    }
}

extension TransactionReceiptFault {
    var rule: Rule? {
        guard case .rejected(let rule) = expected else { return nil }
        return rule
    }
}
