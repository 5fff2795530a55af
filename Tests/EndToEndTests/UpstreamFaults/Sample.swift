// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge

/// Receipts about which Apple may know more than they say: a month that was paid for ended three days ago.
enum Sample {
    /// Made once: finding primes is what takes time.
    static let pki = ForgedPKI(seed: 21)
    static let stranger = ForgedPKI(seed: 22)
    static let tlsAuthority = TLSAuthority(seed: 23)
    static let secret = "5ec4e7015ec4e7025ec4e7035ec4e704"
    static let bundleID = "com.example.app"

    /// When the tests began, so that a number always gives the same receipt.
    static let now = UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970))

    /// A genuine receipt in base64; each number gives another one.
    static func receipt(_ number: Int = 0, type: String = "Production", endingAfterDays days: Int64 = -3) -> String {
        receipt(number, type: type, endingAt: now.advanced(byDays: days))
    }

    /// The same with the moment when what was paid for ends.
    static func receipt(_ number: Int = 0, type: String = "Production", endingAt end: UTCDate) -> String {
        Data(pki.sign(contents(number, type: type, endingAt: end))).base64EncodedString()
    }

    /// The same, signed by somebody who is not Apple.
    static func forged(_ number: Int = 0) -> String {
        Data(stranger.sign(contents(number, type: "Production", endingAt: now.advanced(byDays: -3))))
            .base64EncodedString()
    }

    /// A genuine receipt with so many months of one subscription, in base64: some 300 bytes each.
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
