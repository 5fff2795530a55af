// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Synchronization

@testable import AppleSimulator

/// Created once, because finding primes takes time.
enum Samples {
    static let pki = ForgedPKI(seed: 7)
    static let stranger = ForgedPKI(seed: 8)
    static let transactionPKI = TransactionPKI(seed: 7)
    static let apiKey = ForgedAPIKey(seed: 7)

    /// The time at which every test begins: summer time in Los Angeles.
    static let start = UTCDate(2026, 7, 1, 12)

    /// Returns a monthly subscription whose second period ends this many days after the test begins.
    static func receipt(endingAfterDays days: Int64 = 10, type: String = "Production") -> ReceiptContents {
        var receipt = ReceiptContents(bundleID: "com.example.app", creationDate: start.advanced(byDays: -60))
        receipt.receiptType = type
        receipt.adamID = 9_007_199_254_740_993
        let end = start.advanced(byDays: days)
        var first = PurchaseContents(
            productID: "com.example.app.monthly", transactionID: "1000", purchaseDate: end.advanced(byDays: -60))
        first.expiresDate = end.advanced(byDays: -30)
        first.webOrderLineItemID = 77
        first.isTrialPeriod = true
        var second = first
        second.transactionID = "1001"
        second.purchaseDate = end.advanced(byDays: -30)
        second.expiresDate = end
        second.isTrialPeriod = false
        var item = PurchaseContents(
            productID: "com.example.app.gems", transactionID: "2000", purchaseDate: start.advanced(byDays: -5))
        item.productType = .consumable
        receipt.purchases = [second, item, first]
        return receipt
    }

    static func plainReceipt(type: String = "Production") -> ReceiptContents {
        var receipt = receipt(type: type)
        receipt.purchases.removeAll(where: \.isSubscription)
        return receipt
    }

    /// Returns the transaction receipt of a monthly subscription that ends this many days after the test begins.
    static func transactionReceipt(
        endingAfterDays days: Int64 = 10, environment: String = "Production"
    ) -> TransactionReceiptContents {
        let end = start.advanced(byDays: days)
        var receipt = TransactionReceiptContents(
            bundleID: "com.example.app", productID: "com.example.app.monthly", transactionID: "1001",
            purchaseDate: end.advanced(byDays: -30))
        receipt.originalTransactionID = "1000"
        receipt.originalPurchaseDate = end.advanced(byDays: -60)
        receipt.expiresDate = end
        receipt.webOrderLineItemID = 77
        receipt.appItemID = "1387514950"
        receipt.versionExternalIdentifier = "827235835"
        receipt.isTrialPeriod = false
        receipt.isInIntroOfferPeriod = false
        receipt.environment = environment
        return receipt
    }

    static func body(_ receipt: TransactionReceiptContents, signedBy pki: ForgedPKI = pki) -> String {
        body(pki.sign(receipt))
    }

    static func body(_ receipt: [UInt8]) -> String { #"{"receipt-data":"\#(ForgedEvidence.der(receipt).base64)"}"# }

    static func body(
        _ receipt: ReceiptContents, signedBy pki: ForgedPKI = pki, password: String? = nil, excludesOld: Bool = false
    ) -> String {
        let password = password.map { ",\"password\":\"\($0)\"" } ?? ""
        let options = excludesOld ? ",\"exclude-old-transactions\":true" : ""
        return "{\"receipt-data\":\"\(ForgedEvidence.der(pki.sign(receipt)).base64)\"\(password)\(options)}"
    }
}

/// A clock that a test sets.
final class ManualClock: Sendable {
    private let milliseconds = Mutex(Samples.start.secondsSince1970 * 1000)

    var now: Timestamp { milliseconds.withLock { Timestamp(millisecondsSince1970: $0) } }

    func advance(bySeconds seconds: Double) {
        milliseconds.withLock { $0 += Int64(seconds * 1000) }
    }
}
