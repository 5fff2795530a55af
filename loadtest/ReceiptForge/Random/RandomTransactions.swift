// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension TransactionContents {
    /// Returns a renewal with a random number; all belong to one subscription.
    package static func random(using generator: inout SplitMix64) -> TransactionContents {
        var contents = TransactionContents()
        contents.transactionID = "\(generator.number(in: 2_000_000_000_000_000...2_999_999_999_999_999))"
        return contents
    }
}

extension TransactionReceiptContents {
    /// Returns a renewal with a random number.
    package static func random(using generator: inout SplitMix64) -> TransactionReceiptContents {
        var contents = TransactionReceiptContents.faultSample
        contents.transactionID = "\(generator.number(in: 1_000_000_000_000_000...1_999_999_999_999_999))"
        return contents
    }
}
