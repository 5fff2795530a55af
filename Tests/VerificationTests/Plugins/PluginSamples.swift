// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import API
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

/// Answers about purchases, and the rules by which cordova-plugin-purchase 13 reads what the gateway makes of them.
enum PluginSamples {
    static let now = SignedSamples.now
    static let bundleID = "com.example.forge"

    static func time(_ seconds: Int64) -> Timestamp { now.advanced(by: .seconds(seconds)) }

    static func milliseconds(_ seconds: Int64) -> Int64 { time(seconds).millisecondsSince1970 }

    /// A period of a subscription, in seconds from now. The chain began with it unless `change` says otherwise.
    static func period(
        _ product: String, _ id: String, chain: String? = nil, from start: Int64, to end: Int64,
        _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var period = Transaction(productID: product, transactionID: id)
        (period.originalTransactionID, period.productType) = (chain ?? id, .autoRenewableSubscription)
        (period.purchaseDate, period.originalPurchaseDate, period.expiresDate) = (time(start), time(start), time(end))
        change(&period)
        return period
    }

    static func item(
        _ product: String, _ id: String, _ type: ProductType? = .nonConsumable, at seconds: Int64,
        revoked: Int64? = nil
    ) -> Transaction {
        var item = Transaction(productID: product, transactionID: id)
        (item.originalTransactionID, item.productType, item.ownership) = (id, type, .purchased)
        (item.purchaseDate, item.originalPurchaseDate) = (time(seconds), time(seconds))
        item.cancellationDate = revoked.map { time($0) }
        return item
    }

    static func plan(_ chain: String, _ product: String, _ change: (inout Renewal) -> Void) -> Renewal {
        var plan = Renewal(originalTransactionID: chain)
        (plan.productID, plan.renewalProductID, plan.willRenew) = (product, product, true)
        change(&plan)
        return plan
    }

    /// Returns a genuine answer about these purchases, to a signed transaction of the forge's.
    static func answer(
        _ transactions: [Transaction], _ plans: [Renewal] = [], from source: Provenance.Source = .serverAPI,
        degradedBecause reasons: [DegradedReason] = [], sent contents: some SignedContents = TransactionContents(),
        at moment: Timestamp = now
    ) throws -> Answer {
        let evidence = Evidence.jws(Array(SignedSamples.text(contents).utf8))
        let verified = try SignedSamples.service.computed(VerificationRequest(evidence: evidence), at: now)
        let entitlements = Entitlements(
            in: TransactionList(transactions), renewals: plans, at: moment, rules: SubscriptionRules(knownAt: now))
        return Answer(
            verdict: .genuine, subject: verified.subject, entitlements: entitlements,
            provenance: Provenance(source: source, cache: .miss, verifiedAt: now, degradedReasons: reasons),
            freshUntil: now)
    }

    /// Returns an answer without purchases.
    static func answer(_ verdict: Verdict) -> Answer {
        Answer(
            verdict: verdict, provenance: Provenance(source: .local, cache: .miss, verifiedAt: now), freshUntil: now)
    }

    /// Returns the JSON of `POST /v1/validate` for an answer, which the plugin accepts.
    static func validated(_ answer: Answer, at moment: Timestamp = now) throws -> ValidatedPayload {
        let reply = ValidateEndpoint().replies(to: VerificationOptions(), with: answer, at: moment).first
        #expect(reply.status.code == 200)
        return try ValidatedPayload(reply.body.bytes)
    }
}

/// An answer as the plugin reads it.
struct ValidatedPayload {
    let json: [String: Any]

    /// Reads an answer.
    /// - Throws: for an answer that the plugin would replace by an error.
    init(_ bytes: [UInt8]) throws {
        json = try #require(String(decoding: bytes, as: UTF8.self).jsonMembers)
        let data = json["data"] as? [String: Any]
        guard try #require(json["ok"] as? Bool) else { return }
        _ = try #require(data?["id"] as? String)
        _ = try #require(data?["transaction"] as? [String: Any])
    }

    var isOK: Bool { json["ok"] as? Bool == true }
    var data: [String: Any] { json["data"] as? [String: Any] ?? [:] }
    var id: String? { data["id"] as? String }
    var collection: [[String: Any]] { data["collection"] as? [[String: Any]] ?? [] }

    func purchases(of product: String) -> [[String: Any]] { collection.filter { $0["id"] as? String == product } }

    /// Returns the only entry of a product.
    func purchase(_ product: String) throws -> [String: Any] {
        let found = purchases(of: product)
        try #require(found.count == 1, "\(collection)")
        return found[0]
    }

    /// Returns true if the plugin would call a product owned, with this answer alone.
    func owns(_ product: String, at moment: Timestamp = PluginSamples.now) -> Bool {
        HeldPayloads([self]).owns(product, at: moment)
    }
}

/// The answers that the plugin holds, in the order in which their names came first.
struct HeldPayloads {
    private var payloads: [ValidatedPayload] = []

    init(_ payloads: [ValidatedPayload]) {
        for payload in payloads {
            if let index = self.payloads.firstIndex(where: { $0.id == payload.id }) {
                self.payloads[index] = payload
            } else {
                self.payloads.append(payload)
            }
        }
    }

    /// Returns true if the plugin would call a product owned: by the entry that was bought last, of several the first.
    func owns(_ product: String, at moment: Timestamp = PluginSamples.now) -> Bool {
        func number(_ name: String, _ entry: [String: Any]) -> Int64? { (entry[name] as? NSNumber)?.int64Value }
        var newest: [String: Any]?
        for entry in payloads.flatMap({ $0.purchases(of: product) }) {
            let date = newest.flatMap { number("purchaseDate", $0) } ?? 0
            if date < number("purchaseDate", entry) ?? 1 { newest = entry }
        }
        guard let newest, newest["isExpired"] as? Bool != true else { return false }
        return number("expiryDate", newest).map { moment.millisecondsSince1970 < $0 } ?? true
    }
}
