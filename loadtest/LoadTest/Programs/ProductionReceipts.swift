// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Genuine receipts of customers who paid, months old: what they bought may have been renewed or refunded since.
enum ProductionReceipts {
    /// In base64; each with one to nine purchases. The same seed gives the same ones.
    static func mint(_ count: Int, signedBy pki: ForgedPKI, seed: UInt64, minted: (Int) -> Void) -> [String] {
        (0..<count).map { number in
            var generator = SplitMix64(seed: seed, purpose: "production receipt \(number)")
            var contents = ReceiptContents.random(using: &generator, purchases: 1 + number % 9)
            contents.receiptType = "Production"
            contents.adamID = 1_000_000_000 + Int64(number)
            minted(number + 1)
            return ForgedEvidence.der(pki.sign(contents)).base64
        }
    }
}
