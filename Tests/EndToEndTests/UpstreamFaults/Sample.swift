// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge

/// Receipts that Apple may know more about: a paid month ended three days ago.
enum Sample {
    /// Created once, because finding primes takes time.
    static let pki = ForgedPKI(seed: 21)
    static let stranger = ForgedPKI(seed: 22)
    static let tlsAuthority = TLSAuthority(seed: 23)
    static let secret = "5ec4e7015ec4e7025ec4e7035ec4e704"
    static let bundleID = "com.example.app"

    /// The start of the tests, so that a number always gives the same receipt.
    static let now = UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970))

    /// Returns a genuine receipt in base64; each number gives another one.
    static func receipt(_ number: Int = 0, type: String = "Production", endingAfterDays days: Int64 = -3) -> String {
        receipt(number, type: type, endingAt: now.advanced(byDays: days))
    }

    /// Returns a genuine receipt whose paid period ends at this time.
    static func receipt(_ number: Int = 0, type: String = "Production", endingAt end: UTCDate) -> String {
        Data(pki.sign(contents(number, type: type, endingAt: end))).base64EncodedString()
    }

    /// Returns the genuine transaction receipt of a month that ends this many days from now, in base64.
    static func transactionReceipt(endingAfterDays days: Int64, environment: String = "Production") -> String {
        let end = now.advanced(byDays: days)
        var contents = TransactionReceiptContents(
            bundleID: bundleID, productID: bundleID + ".monthly", transactionID: transactionID(0),
            purchaseDate: end.advanced(byDays: -30))
        contents.expiresDate = end
        contents.environment = environment
        return Data(pki.sign(contents)).base64EncodedString()
    }

    /// Returns a receipt signed by a stranger.
    static func forged(_ number: Int = 0) -> String {
        Data(stranger.sign(contents(number, type: "Production", endingAt: now.advanced(byDays: -3))))
            .base64EncodedString()
    }

    /// Returns a genuine receipt with this many months of one subscription, in base64: some 300 bytes each.
    static func largeReceipt(purchases: Int) -> String {
        var receipt = contents(0, type: "Production", endingAt: now.advanced(byDays: -3))
        receipt.purchases = (0..<purchases).flatMap { number in
            receipt.purchases.map { month in
                var month = month
                month.transactionID = transactionID(number)
                return month
            }
        }
        return Data(pki.sign(receipt)).base64EncodedString()
    }

    static func transactionID(_ number: Int) -> String { "7000000\(100_000 + number)" }

    private static func contents(_ number: Int, type: String, endingAt end: UTCDate) -> ReceiptContents {
        var receipt = ReceiptContents(bundleID: bundleID, creationDate: end.advanced(byDays: -20))
        receipt.receiptType = type
        var month = PurchaseContents(
            productID: bundleID + ".monthly", transactionID: transactionID(number),
            purchaseDate: end.advanced(byDays: -30))
        month.expiresDate = end
        receipt.purchases = [month]
        return receipt
    }
}
