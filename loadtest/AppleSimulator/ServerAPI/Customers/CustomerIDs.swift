// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The identifiers that follow from other identifiers, so that they are equal in every run.
enum CustomerIDs {
    /// The smallest app transaction ID: 7 and 17 further digits.
    static let firstAppTransactionID: Int64 = 700_000_000_000_000_000
    /// The room for the digits after the 7.
    private static let digits: Int64 = 100_000_000_000_000_000

    /// Returns 7 and the lowest original transaction ID in 17 digits; without a number, 17 digits that follow from the
    /// bundle ID and the dates.
    static func appTransactionID(of receipt: ReceiptContents) -> String {
        let originals = receipt.purchases.compactMap { Int64($0.originalTransactionID) }
        if let lowest = originals.min(), (0..<digits).contains(lowest) { return appTransactionID(of: lowest) }
        let purpose = "\(receipt.bundleID) \(receipt.originalPurchaseDate.secondsSince1970) \(receipt.downloadID)"
        var generator = SplitMix64(seed: 0, purpose: purpose)
        return appTransactionID(of: Int64(generator.next() % UInt64(digits)))
    }

    static func appTransactionID(of original: Int64) -> String { String(firstAppTransactionID + original) }

    /// Returns the original transaction ID of an app transaction ID.
    static func originalTransactionID(ofAppTransactionID number: Int64) -> Int64? {
        let original = number - firstAppTransactionID
        return (0..<digits).contains(original) ? original : nil
    }

    /// Returns the order of a transaction: M and the transaction ID to the base 36.
    static func orderID(of transactionID: String) -> String? {
        Int64(transactionID).map { "M" + String($0, radix: 36, uppercase: true) }
    }

    static func transactionID(ofOrder orderID: String) -> String? {
        guard orderID.hasPrefix("M") else { return nil }
        return Int64(orderID.dropFirst(), radix: 36).map { String($0) }
    }

    /// Returns an app's number in the App Store that follows from its bundle ID.
    static func appAppleID(of bundleID: String) -> Int64 {
        var generator = SplitMix64(seed: 0, purpose: "app " + bundleID)
        return 1_000_000_000 + Int64(generator.next() % 5_000_000_000)
    }
}
