// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
package import Receipts

/// What `POST /verifyReceipt` answered: the bytes, the JSON, and what decides about entitlements, read and checked.
///
/// Where Apple does not vouch for the receipt (`status` is neither 0 nor 21006) there is nothing but the status to read:
/// such bodies can hold a whole receipt, and it must not be believed by mistake. `json` has it all.
package struct VerifyReceiptResponse: AppleObject {
    /// The body as Apple sent it.
    package let body: [UInt8]
    /// The body as a tree.
    package let json: JSONValue
    /// `status`.
    package let status: VerifyReceiptStatus
    /// `environment`; iOS 6 style answers do not say.
    package let environment: Environment?
    /// `receipt`: what Apple read out of the receipt. Never nil with status 0.
    package let receipt: AppReceipt?
    /// `latest_receipt_info`, in no order; one element in iOS 6 style answers.
    package let latestReceiptInfo: [TransactionInfo]
    /// `latest_expired_receipt_info`: the last period of an expired subscription, in iOS 6 style answers.
    package let latestExpiredReceiptInfo: [TransactionInfo]
    /// `pending_renewal_info`; in iOS 6 style answers, what they say beside `status`.
    package let pendingRenewalInfo: [RenewalInfo]

    /// Reads a body.
    ///
    /// - Throws: `AppStoreFault` for what is no answer of Apple's, and for an answer that vouches for a receipt without
    ///   saying legibly what it entitles to.
    package init(parsing body: [UInt8], limits: JSONValue.Limits = JSONValue.Limits()) throws(AppStoreFault) {
        json = try Self.object(in: body, limits)
        self.body = body
        status = try Self.status(of: json)
        let entitling = status.vouchesForReceipt ? json : .object([])
        let members = DecisiveMembers(json: entitling, path: "")
        environment = try members.value("environment", \.appStoreEnvironment)
        receipt = try Self.receipt(of: members)
        if status == .valid, receipt == nil { throw .missing("receipt") }
        latestReceiptInfo = try members.transactions("latest_receipt_info")
        latestExpiredReceiptInfo = try members.transactions("latest_expired_receipt_info")
        pendingRenewalInfo = try Self.renewals(of: members)
    }
}

extension VerifyReceiptResponse {
    /// `is_retryable`, or `is-retryable`: whether Apple thinks it worth asking again.
    package var isRetryable: Bool? { flag("is_retryable") ?? flag("is-retryable") }
    /// `exception`: a name of Apple's own for what went wrong, undocumented.
    package var exception: String? { text("exception") }
    /// `latest_receipt`: a newer receipt for the same purchases, in base64.
    package var latestReceipt: String? { status.vouchesForReceipt ? json["latest_receipt"]?.string : nil }

    /// Returns the `latest_receipt` of a body that was read before and vouches for its receipt, or nil if it has none.
    /// Nothing else of the body is built again.
    package static func latestReceipt(ofKnown body: Span<UInt8>) -> String? {
        var reader = JSONReader(body)
        // It was read whole before: no value in it is beyond what that allowed.
        var allowance = JSONSkipAllowance(maximumDepth: JSONValue.Limits().depth, maximumWork: 2 * body.count)
        do throws(JSONFault) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.string(of: key) == "latest_receipt" { return try reader.string(of: reader.string()) }
                try reader.skipValue(within: &allowance)
            }
            return nil
        } catch {
            return nil
        }
    }
}

// MARK: - Reading

extension VerifyReceiptResponse {
    private static func object(in body: [UInt8], _ limits: JSONValue.Limits) throws(AppStoreFault) -> JSONValue {
        let json: JSONValue
        do throws(JSONFault) {
            json = try JSONValue(parsing: body, limits: limits)
        } catch {
            throw AppStoreFault(error, in: body)
        }
        guard json.type == .object else { throw .notAnObject }
        return json
    }

    private static func status(of json: JSONValue) throws(AppStoreFault) -> VerifyReceiptStatus {
        guard let status = json["status"] else { throw .noStatus }
        guard let code = status.scalarInteger.flatMap(Int.init(exactly:)) else { throw .unreadableStatus }
        return VerifyReceiptStatus(code: code)
    }

    private static func receipt(of members: DecisiveMembers) throws(AppStoreFault) -> AppReceipt? {
        guard let receipt = try members.value("receipt", \.object) else { return nil }
        return try AppReceipt(receipt)
    }

    private static func renewals(of members: DecisiveMembers) throws(AppStoreFault) -> [RenewalInfo] {
        let name = "pending_renewal_info"
        if members.json[name] == nil, members.json["auto_renew_status"] != nil {
            return [try RenewalInfo(members.json, path: "")]
        }
        return try members.renewals(name)
    }
}

extension JSONValue {
    fileprivate var object: JSONValue? { type == .object ? self : nil }

    /// The environments that Apple's servers know; Xcode is none of them.
    fileprivate var appStoreEnvironment: Environment? {
        switch string {
        case Environment.production.rawValue: .production
        case Environment.sandbox.rawValue: .sandbox
        default: nil
        }
    }
}
