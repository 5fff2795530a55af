// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// A verified receipt, read once.
struct GenuineReceipt: Sendable {
    let contents: ReceiptContents
    let environment: Environment

    init(_ receipt: VerifiedReceipt) {
        contents = ReceiptContents(receipt)
        environment = receipt.environment
    }

    /// True for a receipt with subscriptions: Apple requires the shared secret, and returns more.
    var hasSubscriptions: Bool { contents.purchases.contains(where: \.isSubscription) }
}
