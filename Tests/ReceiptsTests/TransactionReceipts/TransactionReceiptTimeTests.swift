// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import ReceiptForge

/// Tests that certificates are judged at the purchase, or at the beginning of the leaf if that is later.
struct TransactionReceiptTimeTests {
    private static let forge = TransactionReceiptSamples.forge
    private static let purchased = TransactionReceiptSamples.contents.purchaseDate
    private static let day: Int64 = 86_400

    /// Seconds from the end of the leaf to the purchase, the grace, and the broken rule.
    private static let edges: [(Int64, Duration?, Rule?)] = [
        (-1, nil, nil), (0, nil, nil), (day, nil, nil), (day + 1, nil, .certificateExpired), (0, .zero, nil),
        (1, .zero, .certificateExpired),
    ]

    @Test(arguments: edges) func `a purchase lies before the end of the leaf and its grace`(
        seconds: Int64, grace: Duration?, broken: Rule?
    ) throws {
        let receipt = Self.forge.signed(by: .leaf) { leaf in
            leaf.validity.notAfter = Self.purchased.advanced(bySeconds: -seconds).element
        }
        var policy = VerificationPolicy()
        if let grace { policy.expiryGrace = grace }
        let store = try TransactionReceiptSamples.verifier().trustStore
        let verifier = ReceiptVerifier(trustStore: store, policy: policy)
        #expect(verifier.brokenRule(ofTransactionReceipt: receipt.encoded) == broken)
    }

    @Test(arguments: [-10 * 365 * day, -1, 0, 1, 365 * day])
    func `a leaf may begin before or after the purchase`(seconds: Int64) throws {
        let receipt = Self.forge.signed(by: .leaf) { leaf in
            leaf.validity.notBefore = Self.purchased.advanced(bySeconds: seconds).element
        }
        let verifier = try TransactionReceiptSamples.verifier()
        // The intermediate begins in 2015, later than the earliest leaf here, and before the purchase.
        #expect(verifier.brokenRule(ofTransactionReceipt: receipt.encoded) == nil)
    }

    /// Milliseconds from now to the purchase.
    @Test(
        arguments: [
            (-1, nil), (0, nil), (day * 1000, nil), (day * 1000 + 300_000, nil),
            (day * 1000 + 300_001, .purchaseDateInFuture), (day * 5000, .purchaseDateInFuture),
        ] as [(Int64, Rule?)])
    func `a purchase may lie a day ahead, for renewals, and the skew of clocks`(
        milliseconds: Int64, broken: Rule?
    ) throws {
        let now = Timestamp(millisecondsSince1970: Self.purchased.timestamp.millisecondsSince1970 - milliseconds)
        let verifier = try TransactionReceiptSamples.verifier()
        let receipt = TransactionReceiptSamples.receipt
        #expect(verifier.brokenRule(ofTransactionReceipt: receipt, at: now) == broken)
    }
}
