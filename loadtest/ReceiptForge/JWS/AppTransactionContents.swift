// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The claims of a signed app transaction, as a device sends it. It has a creation date in place of a signing date.
package struct AppTransactionContents: SignedContents, Hashable {
    /// `Production`, `Sandbox` or `Xcode`: the environment.
    package var receiptType: String? = "Sandbox"
    /// The app's number in the App Store; 0 in the sandbox.
    package var appAppleID: Int64? = 0
    package var bundleID: String? = "com.example.forge"
    package var applicationVersion: String? = "42"
    package var versionExternalIdentifier: Int64? = 0
    /// The time of signing, at which the certificates must be valid.
    package var receiptCreationDate: Timestamp? = TransactionContents.signedByDefault
    /// The time the app was first bought. Apple's sandbox always has 2013-08-01T07:00:00Z.
    package var originalPurchaseDate: Timestamp? = UTCDate(2013, 8, 1, 7).timestamp
    package var originalApplicationVersion: String? = "1.0"
    package var preorderDate: Timestamp?
    package var deviceVerification: String? = "Zm9yZ2VkIGRldmljZSB2ZXJpZmljYXRpb24gb2YgNDggYnl0ZXMgaW4gc3Vt"
    package var deviceVerificationNonce: String? = "5e3b9c2e-6a8d-4f0b-9d55-6f4a3c2b1a00"
    package var appTransactionID: String? = "700000000000000001"
    package var originalPlatform: String? = "iOS"
    package var additionalMembers = ""

    package init() {}

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("receiptType", receiptType)
        json.member("appAppleId", appAppleID)
        json.member("bundleId", bundleID)
        json.member("applicationVersion", applicationVersion)
        json.member("versionExternalIdentifier", versionExternalIdentifier)
        json.member("receiptCreationDate", receiptCreationDate)
        json.member("originalPurchaseDate", originalPurchaseDate)
        json.member("originalApplicationVersion", originalApplicationVersion)
        json.member("preorderDate", preorderDate)
        json.member("deviceVerification", deviceVerification)
        json.member("deviceVerificationNonce", deviceVerificationNonce)
        json.member("appTransactionId", appTransactionID)
        json.member("originalPlatform", originalPlatform)
    }
}
