// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

extension AppTransactionContents {
    /// The claims of a customer's app transaction, without the time of signing. Apple's servers leave out the version and
    /// the device.
    init(_ customer: Customer) {
        self.init()
        let receipt = customer.contents
        receiptType = customer.app.endpoint.environment.rawValue
        appAppleID = customer.appAppleID ?? 0
        bundleID = customer.app.bundleID
        (applicationVersion, versionExternalIdentifier) = (nil, nil)
        (deviceVerification, deviceVerificationNonce) = (nil, nil)
        receiptCreationDate = nil
        originalPurchaseDate = receipt.originalPurchaseDate.timestamp
        originalApplicationVersion = receipt.originalApplicationVersion
        preorderDate = receipt.preorderDate?.timestamp
        appTransactionID = customer.appTransactionID
    }
}

extension Customer {
    /// The app's number in the App Store; nil in the sandbox, where Apple has none.
    var appAppleID: Int64? {
        guard app.endpoint == .production else { return nil }
        return contents.adamID == 0 ? CustomerIDs.appAppleID(of: app.bundleID) : contents.adamID
    }
}
