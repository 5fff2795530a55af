// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// A store with the account of one recorded answer.
struct RecordedStore {
    let store: TestStore
    /// The receipt that was issued for the answer, in base64.
    let receipt: String
    private let endpoint: Endpoint
    private let bundleID: String

    init(_ answer: Data) throws {
        store = try TestStore()
        receipt = try #require(try store.register(recordedAnswer: answer).receipts.first)
        let answer = try store.answer(to: #"{"receipt-data":"\#(receipt)"}"#)
        endpoint = answer.status == 21007 ? .sandbox : .production
        let found = try store.answer(to: #"{"receipt-data":"\#(receipt)"}"#, at: endpoint).receipt
        bundleID = try #require((found["bundle_id"] ?? found["bid"]) as? String)
    }

    func answer(excludesOld: Bool = false) throws -> AppleAnswer {
        let options = excludesOld ? #","exclude-old-transactions":true"# : ""
        return try store.answer(to: #"{"receipt-data":"\#(receipt)"\#(options)}"#, at: endpoint)
    }

    /// Calls the Server API about the answer's app.
    func call(_ path: String) throws -> APIReply {
        let token = Samples.apiKey.token(bundleID: bundleID, issuedAt: UTCDate(store.clock.now))
        return try store.call(path, token: token, at: endpoint)
    }
}

extension TestStore {
    /// Registers the account of a recorded answer, as `PUT /accounts` does.
    @discardableResult
    func register(recordedAnswer answer: Data) throws -> AccountEvidence.Registered {
        let body = Array(#"{"answers":["#.utf8) + Array(answer) + Array("]}".utf8)
        let evidence = try AccountEvidence(body, limits: store.limits)
        return try evidence.register(in: store, store.controlContext(at: .production))
    }
}

extension AppleAnswer {
    /// All members as texts that compare: lists without order, and without the values of what differs by its nature.
    var comparable: [String: String] {
        Dictionary(members.map { ($0.key, Self.comparable($0.value, $0.key)) }) { first, _ in first }
    }

    private static func comparable(_ value: Any, _ name: String) -> String {
        guard !isMadeForRequest(name) else { return "any" }
        switch value {
        case let text as String: return "\"\(text)\""
        case let list as [Any]: return "[" + list.map { comparable($0, "") }.sorted().joined(separator: ",\n") + "]"
        case let object as [String: Any]:
            let members = corrected(object).map { "\($0.key):" + comparable($0.value, $0.key) }
            return "{" + members.sorted().joined(separator: ", ") + "}"
        default: return "\(value)"
        }
    }

    /// Returns true for the date of the request, and for the receipt that is signed for it.
    private static func isMadeForRequest(_ name: String) -> Bool {
        name.hasPrefix("request_date") || name == "latest_receipt"
    }

    /// Returns an object whose dates agree in all forms. Two published answers have dates that were edited by hand, and only
    /// in some forms: the milliseconds count.
    private static func corrected(_ object: [String: Any]) -> [String: Any] {
        var object = object
        for name in ["cancellation_date", "expires_date"] {
            guard let text = object[name + "_ms"] as? String, let milliseconds = Int64(text) else { continue }
            let date = UTCDate.exact(Timestamp(millisecondsSince1970: milliseconds))
            object[name] = date.gmtText
            object[name + "_pst"] = date.pacificText
        }
        return object
    }
}

extension AppleAnswer {
    /// The elements about transactions by ID, of all lists and objects. Of two about one transaction, the one with an end
    /// counts.
    var elements: [String: [String: String]] {
        let objects = ["latest_receipt_info", "latest_expired_receipt_info"].compactMap {
            members[$0] as? [String: Any]
        }
        let all = latest + inApp + Self.elements(objects + (receipt["bid"] == nil ? [] : [receipt]))
        return Dictionary(all.map { ($0["transaction_id"] ?? "", $0) }) { first, other in
            first["expires_date"] == nil && other["expires_date"] != nil ? other : first
        }
    }

    /// The elements of `pending_renewal_info`. Beside a transaction receipt, the members of the answer itself.
    var allRenewals: [[String: String]] {
        let period = (members["latest_receipt_info"] ?? members["latest_expired_receipt_info"]) as? [String: Any]
        guard let period, let status = members["auto_renew_status"] else { return renewals }
        var renewal = ["auto_renew_status": "\(status)"]
        for name in ["auto_renew_product_id", "expiration_intent", "is_in_billing_retry_period"] {
            renewal[name] = members[name] as? String
        }
        for name in ["original_transaction_id", "product_id"] { renewal[name] = period[name] as? String }
        return [renewal]
    }

    /// Returns the fields of an element that claims have, with the values of what old answers leave out.
    static func fieldsOfClaims(_ element: [String: String]) -> [String: String] {
        var fields = element
        // Beside a transaction receipt, `expires_date` is in milliseconds.
        if element["bid"] != nil { fields["expires_date_ms"] = element["expires_date"] }
        fields["in_app_ownership_type"] = element["in_app_ownership_type"] ?? "PURCHASED"
        fields["is_trial_period"] = element["is_trial_period"] ?? "false"
        // Claims cannot express a trial at an introductory price.
        let isTrial = element["is_trial_period"] == "true"
        fields["is_in_intro_offer_period"] = isTrial ? "false" : element["is_in_intro_offer_period"] ?? "false"
        return fields.filter { AgreementTests.comparedFields.contains($0.key) }
    }
}
