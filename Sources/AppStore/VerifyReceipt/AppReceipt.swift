// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts
internal import Secrets

/// `receipt` of an answer: the contents of the receipt that was sent, as read by Apple.
package struct AppReceipt: Sendable {
    /// `bundle_id`, or `bid` in iOS 6 style answers: the app.
    package let bundleID: String
    /// `in_app`, in no order; for an iOS 6 style receipt, its only transaction.
    package let inApp: [Transaction]
    /// `expiration_date`: the end of an app bought in volume.
    package let expirationDate: Timestamp?

    init(_ json: JSONValue) throws(AppStoreFault) {
        let members = EntitlementMembers(json: json, path: "receipt.")
        let name = json["bundle_id"] == nil && json["bid"] != nil ? "bid" : "bundle_id"
        bundleID = try members.text(name)
        expirationDate = try members.date("expiration_date")
        if json["transaction_id"] != nil, json["in_app"] == nil {
            inApp = [try Transaction(json, path: "receipt.")]
        } else {
            inApp = try members.transactions("in_app")
        }
    }
}

extension AppReceipt: Redacted {}
