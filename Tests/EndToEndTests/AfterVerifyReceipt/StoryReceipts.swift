// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge

/// A receipt of a customer whom Apple has a story about.
struct StoryReceipt: Sendable, CustomStringConvertible {
    let description: String
    /// In base64.
    let text: String
    /// The original transaction IDs.
    let chains: Set<String>
    /// True if Apple's answer has the form of iOS 6.
    var isTransactionReceipt = false
    var hasSubscription = true
}

extension StoryReceipt {
    static let all = appReceipts + transactionReceipts

    static let appReceipts = [
        receipt(
            "running, after a trial and with an offer",
            [
                period(11, of: 11, from: -61, to: -31) { $0.isTrialPeriod = true },
                period(12, of: 11, from: -31, to: -1),
                period(13, of: 11, from: -1, to: 29) { $0.promotionalOfferID = "spring" },
            ]),
        receipt(
            "ended three days ago, after an introductory price",
            [
                period(21, of: 21, from: -63, to: -33) { $0.isInIntroOfferPeriod = true },
                period(22, of: 21, from: -33, to: -3),
            ]),
        receipt("ended long ago", [period(31, of: 31, from: -120, to: -90)]),
        receipt(
            "several products",
            [
                period(41, of: 41, from: -1, to: 29),
                period(42, of: 42, "weekly", from: -9, to: -2),
                item(43, "lifetime", .nonConsumable), consumable,
            ]),
    ]

    /// A receipt without subscriptions: Apple's answer has nothing newer.
    static let items = receipt("an item", [item(51, "lifetime", .nonConsumable)], hasSubscription: false)

    static let transactionReceipts = [
        transactionReceipt("a running transaction receipt", 61, from: -1, to: 29),
        transactionReceipt("a transaction receipt that ended", 71, from: -33, to: -3),
        transactionReceipt("a transaction receipt of an item", 81, from: -33, to: nil),
    ]

    /// A consumable of `several products`, which the app has not finished.
    static let consumable = item(44, "coins", .consumable)
}

extension StoryReceipt {
    private static func receipt(
        _ description: String, _ purchases: [PurchaseContents], hasSubscription: Bool = true
    ) -> StoryReceipt {
        var contents = ReceiptContents(bundleID: Sample.bundleID, creationDate: Sample.now.advanced(bySeconds: -3600))
        contents.receiptType = "Production"
        contents.purchases = purchases.map { purchase in
            var purchase = purchase
            let first = purchases.first { $0.transactionID == purchase.originalTransactionID }
            purchase.originalPurchaseDate = first?.purchaseDate ?? purchase.purchaseDate
            return purchase
        }
        return StoryReceipt(
            description: description, text: Data(Sample.pki.sign(contents)).base64EncodedString(),
            chains: Set(purchases.map(\.originalTransactionID)), hasSubscription: hasSubscription)
    }

    /// - Parameters:
    ///   - start, end: in days from now.
    private static func transactionReceipt(
        _ description: String, _ number: Int, from start: Int64, to end: Int64?
    ) -> StoryReceipt {
        let product = end == nil ? "lifetime" : "monthly"
        var contents = TransactionReceiptContents(
            bundleID: Sample.bundleID, productID: "\(Sample.bundleID).\(product)", transactionID: id(number),
            purchaseDate: Sample.now.advanced(byDays: start))
        contents.expiresDate = end.map(Sample.now.advanced(byDays:))
        contents.webOrderLineItemID = end.flatMap { _ in Int64("5000\(number)") } ?? 0
        contents.environment = "Production"
        return StoryReceipt(
            description: description, text: Data(Sample.pki.sign(contents)).base64EncodedString(),
            chains: [id(number)], isTransactionReceipt: true, hasSubscription: end != nil)
    }

    private static func period(
        _ number: Int, of original: Int, _ product: String = "monthly", from start: Int64, to end: Int64,
        _ change: (inout PurchaseContents) -> Void = { _ in }
    ) -> PurchaseContents {
        var period = PurchaseContents(
            productID: "\(Sample.bundleID).\(product)", transactionID: id(number),
            purchaseDate: Sample.now.advanced(byDays: start))
        period.originalTransactionID = id(original)
        period.expiresDate = Sample.now.advanced(byDays: end)
        period.webOrderLineItemID = 5_000_000 + Int64(number)
        change(&period)
        return period
    }

    private static func item(
        _ number: Int, _ product: String, _ type: PurchaseContents.ProductType
    ) -> PurchaseContents {
        var item = PurchaseContents(
            productID: "\(Sample.bundleID).\(product)", transactionID: id(number),
            purchaseDate: Sample.now.advanced(byDays: -40))
        item.productType = type
        item.isInIntroOfferPeriod = nil
        return item
    }

    private static func id(_ number: Int) -> String { "7000001\(100_000 + number)" }
}
