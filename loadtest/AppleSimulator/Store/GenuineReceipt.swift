// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// A receipt whose signature holds, read once.
struct GenuineReceipt: Sendable {
    let contents: ReceiptContents
    let environment: Environment

    init(_ receipt: VerifiedReceipt) {
        contents = ReceiptContents(receipt)
        environment = receipt.environment
    }

    /// Apple wants the shared secret for these, and tells more about them.
    var hasSubscriptions: Bool { contents.purchases.contains(where: \.isSubscription) }
}
