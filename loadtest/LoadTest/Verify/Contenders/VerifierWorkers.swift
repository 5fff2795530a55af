// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Verifies with one verifier that all threads share, as a gateway does.
struct WarmVerifierWorker: ContenderWorker {
    let verifier: ReceiptVerifier
    let now: Timestamp

    func accepts(_ receipt: SampleReceipt) -> Bool {
        verifier.accepts(receipt, at: now)
    }
}

/// Verifies each receipt with a verifier of its own, so that every chain is new.
struct ColdVerifierWorker: ContenderWorker {
    let trustStore: TrustStore
    let now: Timestamp

    func accepts(_ receipt: SampleReceipt) -> Bool {
        ReceiptVerifier(trustStore: trustStore).accepts(receipt, at: now)
    }
}

extension ReceiptVerifier {
    /// Whether the receipt is genuine and has the purchases it was minted with.
    fileprivate func accepts(_ receipt: SampleReceipt, at now: Timestamp) -> Bool {
        guard let verified = try? verify(receipt.der, at: now) else { return false }
        return verified.purchases.count == receipt.purchases
    }

    /// Whether the receipt is genuine and was issued for the app it was minted for.
    func reads(_ receipt: SampleReceipt, at now: Timestamp) -> Bool {
        (try? verify(receipt.der, at: now))?.isIssued(forBundleID: receipt.bundleID) ?? false
    }
}
