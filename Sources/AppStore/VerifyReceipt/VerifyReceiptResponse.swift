// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
package import JSON
package import Receipts

/// The answer to `POST /verifyReceipt`: the bytes, the JSON, and the parsed members that decide about entitlements.
///
/// If Apple does not confirm the receipt (`status` is neither 0 nor 21006), only the status is parsed: such a body may
/// hold a whole receipt, which must not be trusted. `json` has all members.
package struct VerifyReceiptResponse: Sendable, Redacted {
    package let body: [UInt8]
    package let json: JSONValue
    package let status: VerifyReceiptStatus
    /// `environment`; absent in iOS 6 style answers.
    package let environment: Environment?
    /// `receipt`: the contents of the receipt. Never nil with status 0.
    package let receipt: AppReceipt?
    /// `latest_receipt_info`, in no order; one element in iOS 6 style answers.
    package let latestReceiptInfo: [Transaction]
    /// `latest_expired_receipt_info`: the last period of an expired subscription, in iOS 6 style answers.
    package let latestExpiredReceiptInfo: [Transaction]
    /// `pending_renewal_info`; in iOS 6 style answers, the members beside `status`.
    package let pendingRenewalInfo: [Renewal]
    /// The elements of these lists that cannot be read.
    package let unreadable: [UnreadableItem]

    /// - Throws: `AppStoreFault` for an unusable answer, or for an answer that confirms a receipt with unreadable
    ///   entitlements.
    package init(parsing body: [UInt8], limits: JSONValue.Limits = JSONValue.Limits()) throws(AppStoreFault) {
        json = try JSONValue(objectIn: body, limits)
        self.body = body
        status = try Self.status(of: json)
        guard status.confirmsReceipt else {
            (environment, receipt) = (nil, nil)
            (latestReceiptInfo, latestExpiredReceiptInfo, pendingRenewalInfo, unreadable) = ([], [], [], [])
            return
        }
        let members = EntitlementMembers(json: json, path: "")
        environment = try members.value("environment", \.appStoreEnvironment)
        var unreadable: [UnreadableItem] = []
        receipt = try members.value("receipt", \.object).map { json throws(AppStoreFault) in
            try AppReceipt(json, &unreadable)
        }
        if status == .valid, receipt == nil { throw .missing("receipt") }
        latestReceiptInfo = try members.transactions("latest_receipt_info", &unreadable)
        latestExpiredReceiptInfo = try members.transactions("latest_expired_receipt_info", &unreadable)
        let first = latestReceiptInfo.first ?? latestExpiredReceiptInfo.first ?? receipt?.inApp.first
        pendingRenewalInfo = try Self.renewals(of: members, first?.originalTransactionID, &unreadable)
        self.unreadable = unreadable
    }

    /// `is_retryable`, or `is-retryable`: true if Apple recommends a retry.
    package var isRetryable: Bool? { json["is_retryable"]?.scalarFlag ?? json["is-retryable"]?.scalarFlag }
    /// `exception`: Apple's undocumented name of an error.
    package var exception: String? { json["exception"]?.scalarText }
    /// The transactions of all lists. The later lists only add transactions missing in the first.
    var transactions: [Transaction] { latestReceiptInfo + latestExpiredReceiptInfo + (receipt?.inApp ?? []) }
    /// `latest_receipt`: a newer receipt for the same purchases, in base64.
    package var latestReceipt: String? { status.confirmsReceipt ? json["latest_receipt"]?.string : nil }

    /// Returns the `latest_receipt` of a body that was parsed before and confirms its receipt, or nil if it has none.
    /// Parses nothing else of the body.
    package static func latestReceipt(ofKnown body: Span<UInt8>) -> String? {
        var reader = JSONReader(body)
        // The body was parsed before: no value in it exceeds these limits.
        var allowance = JSONSkipAllowance(maximumDepth: JSONValue.Limits().depth, maximumWork: 2 * body.count)
        do throws(JSONFault) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.text(of: key) == "latest_receipt" { return try reader.string(of: reader.string()) }
                try reader.skipValue(within: &allowance)
            }
            return nil
        } catch {
            return nil
        }
    }

    private static func status(of json: JSONValue) throws(AppStoreFault) -> VerifyReceiptStatus {
        guard let status = json["status"] else { throw .noStatus }
        guard let code = status.scalarInteger.flatMap(Int.init(exactly:)) else { throw .unreadableStatus }
        return VerifyReceiptStatus(code: code)
    }

    private static func renewals(
        of members: EntitlementMembers, _ subscription: String?, _ unreadable: inout [UnreadableItem]
    ) throws(AppStoreFault) -> [Renewal] {
        let name: StaticString = "pending_renewal_info"
        let isFlat = members.json[name] == nil && members.json["auto_renew_status"] != nil
        let objects = if isFlat { [members.json] } else { try members.elements(name) }
        let path = isFlat ? "" : "\(members.path)\(name)."
        return members.readable(objects, &unreadable) { object throws(AppStoreFault) in
            try Renewal(object, path: path, of: subscription)
        }.compactMap(\.self)
    }
}

/// `receipt` of an answer: the contents of the receipt that was sent, as read by Apple.
package struct AppReceipt: Sendable, Redacted {
    /// `bundle_id`, or `bid` in iOS 6 style answers: the app.
    package let bundleID: String
    /// `in_app`, in no order; for an iOS 6 style receipt, its only transaction.
    package let inApp: [Transaction]

    /// - Parameter unreadable: receives the elements that cannot be read.
    init(_ json: JSONValue, _ unreadable: inout [UnreadableItem]) throws(AppStoreFault) {
        let members = EntitlementMembers(json: json, path: "receipt.")
        let name: StaticString = json["bundle_id"] == nil && json["bid"] != nil ? "bid" : "bundle_id"
        bundleID = try members.text(name)
        if json["transaction_id"] != nil, json["in_app"] == nil {
            inApp = [try Transaction(json, path: "receipt.")]
        } else {
            inApp = try members.transactions("in_app", &unreadable)
        }
    }
}

extension JSONValue {
    /// Parses a body of Apple's, which must be an object.
    init(objectIn body: [UInt8], _ limits: Limits) throws(AppStoreFault) {
        do throws(JSONFault) {
            try self.init(parsing: body, limits: limits)
        } catch {
            throw AppStoreFault(error, in: body)
        }
        guard type == .object else { throw .notAnObject }
    }

    fileprivate var object: JSONValue? { type == .object ? self : nil }

    /// The environment of Apple's servers; nil for Xcode.
    fileprivate var appStoreEnvironment: Environment? {
        switch string {
        case Environment.production.rawValue: .production
        case Environment.sandbox.rawValue: .sandbox
        default: nil
        }
    }
}
