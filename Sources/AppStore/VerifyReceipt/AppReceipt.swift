// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// `receipt` of an answer: the contents of the receipt that was sent, as read by Apple.
package struct AppReceipt: AppleObject {
    package let json: JSONValue
    /// `bundle_id`, or `bid` in iOS 6 style answers: the app.
    package let bundleID: String
    /// `in_app`, in no order; for an iOS 6 style receipt, its only transaction.
    package let inApp: [TransactionInfo]
    /// `expiration_date`: the end of an app bought in volume.
    package let expirationDate: Timestamp?

    init(_ json: JSONValue) throws(AppStoreFault) {
        let members = DecisiveMembers(json: json, path: "receipt.")
        self.json = json
        let name = json["bundle_id"] == nil && json["bid"] != nil ? "bid" : "bundle_id"
        bundleID = try members.text(name)
        expirationDate = try members.date("expiration_date")
        if json["transaction_id"] != nil, json["in_app"] == nil {
            inApp = [try TransactionInfo(json, path: "receipt")]
        } else {
            inApp = try members.transactions("in_app")
        }
    }
}

extension AppReceipt {
    /// `adam_id`: the app's number in the App Store; 0 in the sandbox.
    package var adamID: Int64? { integer("adam_id") }
    /// `app_item_id`: the same number.
    package var appItemID: Int64? { integer("app_item_id") }
    /// `application_version`, or `bvrs` in iOS 6 style answers.
    package var applicationVersion: String? { text("application_version") ?? text("bvrs") }
    /// `download_id`; beyond 2^53, and null at times.
    package var downloadID: Int64? { integer("download_id") }
    /// `original_application_version`: the version first bought.
    package var originalApplicationVersion: String? { text("original_application_version") }
    /// `original_purchase_date`: the first purchase of the app.
    package var originalPurchaseDate: Timestamp? { date("original_purchase_date") }
    /// `preorder_date`: the time of the pre-order.
    package var preorderDate: Timestamp? { date("preorder_date") }
    /// `receipt_creation_date`: the time when the App Store made the receipt.
    package var creationDate: Timestamp? { date("receipt_creation_date") }
    /// `receipt_type`: `Production`, `ProductionVPP`, `ProductionSandbox` or `ProductionVPPSandbox`.
    package var receiptType: String? { text("receipt_type") }
    /// `request_date`: the time of Apple's answer.
    package var requestDate: Timestamp? { date("request_date") }
    /// `version_external_identifier`: the number of the app's version; 0 in the sandbox.
    package var versionExternalIdentifier: Int64? { integer("version_external_identifier") }
}
