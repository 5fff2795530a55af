// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import JSON
internal import Receipts

/// The JSON that `verifyReceipt` would return for a transaction receipt (iOS 6) verified here.
///
/// `receipt` has the signed fields under their names with underscores. What only Apple knows is left out: later periods,
/// and whether the subscription renews.
struct LocalTransactionReceiptResponse: Sendable {
    let receipt: VerifiedTransactionReceipt
    /// True for a subscription that has ended: the status is 21006.
    let isLapsed: Bool
    /// `latest_receipt` of an earlier answer of Apple, in base64; nil answers with the receipt itself.
    var latestReceipt: String?

    var body: [UInt8] {
        let status: VerifyReceiptStatus = isLapsed ? .subscriptionExpired : .valid
        var json = JSONWriter(reservingCapacity: 2 * receipt.bytes.count)
        json.object { json in
            json.member("status", Int64(status.code))
            json.fields(of: receipt, named: "receipt")
            guard receipt.expiresDate != nil else { return }
            guard !isLapsed else { return json.fields(of: receipt, named: "latest_expired_receipt_info") }
            json.fields(of: receipt, named: "latest_receipt_info")
            json.key("latest_receipt")
            if let latestReceipt { return json.string(latestReceipt) }
            json.string { Base64.append(encoding: receipt.bytes, to: &$0) }
        }
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func fields(of receipt: VerifiedTransactionReceipt, named name: String) {
        key(name)
        object { json in
            for field in receipt.fields {
                json.member(String(field.name.map { $0 == "-" ? "_" : $0 }), field.value)
            }
        }
    }
}
