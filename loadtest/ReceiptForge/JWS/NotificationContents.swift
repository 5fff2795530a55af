// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// The payload of a server notification, version 2. By default about a renewal, without nested JWS.
package struct NotificationContents: SignedContents, Hashable {
    /// The `data` of a notification about one app.
    package struct AppData: Sendable, Hashable {
        /// The app's number in the App Store.
        package var appAppleID: Int64? = 1_234_567_890
        package var bundleID: String? = "com.example.forge"
        package var bundleVersion: String? = "42"
        package var environment: String? = "Sandbox"
        /// A JWS, as text.
        package var signedTransactionInfo: String?
        /// A JWS, as text.
        package var signedRenewalInfo: String?
        /// The state of the subscription: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
        package var status: Int64? = 1
        /// More members for the end of the object, as JSON text.
        package var additionalMembers = ""

        package init() {}
    }

    package var notificationType: String? = "DID_RENEW"
    package var subtype: String?
    /// The notification's ID, which every delivery repeats.
    package var notificationUUID: String? = "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01"
    /// Nil in notifications that have a `summary` or an `externalPurchaseToken`, which are additional members here.
    package var data: AppData? = AppData()
    package var version: String? = "2.0"
    package var signedDate: Timestamp? = TransactionContents.signedByDefault
    package var additionalMembers = ""

    package init() {}

    package func writeClaims(_ json: inout JSONWriter) {
        json.member("notificationType", notificationType)
        json.member("subtype", subtype)
        json.member("notificationUUID", notificationUUID)
        if let data { data.write(&json) }
        json.member("version", version)
        json.member("signedDate", signedDate)
    }
}

extension NotificationContents.AppData {
    fileprivate func write(_ json: inout JSONWriter) {
        json.key("data")
        json.object { json in
            json.member("appAppleId", appAppleID)
            json.member("bundleId", bundleID)
            json.member("bundleVersion", bundleVersion)
            json.member("environment", environment)
            json.member("signedTransactionInfo", signedTransactionInfo)
            json.member("signedRenewalInfo", signedRenewalInfo)
            json.member("status", status)
            if !additionalMembers.isEmpty { json.members(Array(additionalMembers.utf8)[...]) }
        }
    }
}
