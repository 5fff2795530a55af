// SPDX-License-Identifier: Apache-2.0

import ReceiptForge

/// Created once, because finding primes takes time.
enum Samples {
    static let pki = ForgedPKI(seed: 1)
    static let xcode = XcodePKI(seed: 1)
    static let date = UTCDate(2024, 3, 1, 12, 30, 15)

    static var contents: ReceiptContents {
        var contents = ReceiptContents(bundleID: "com.example.forge", creationDate: date)
        var purchase = PurchaseContents(
            productID: "com.example.forge.monthly", transactionID: "2000000000000001", purchaseDate: date)
        purchase.expiresDate = date.advanced(byDays: 30)
        contents.purchases = [purchase]
        return contents
    }
}

extension OpenSSLVerifier {
    /// A verifier for the sample authority, at the time the samples were created.
    static let samples = OpenSSLVerifier(root: Samples.pki.root, moment: Samples.date)
}
