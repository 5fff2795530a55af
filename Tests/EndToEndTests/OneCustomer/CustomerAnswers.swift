// SPDX-License-Identifier: Apache-2.0

import Foundation
import Receipts
import Testing
import TestSupport

/// The words of each protocol about the customer's subscription, as `CustomerPhase` has them.
extension CustomerStage {
    // MARK: - The gateway's own protocol

    enum Evidence: String, CaseIterable {
        case receipt, signedTransactions, transactionID
    }

    private func body(_ evidence: Evidence) -> [String: Any] {
        switch evidence {
        case .receipt: ["receipt": receipt, "bundle_id": Self.bundleID]
        case .signedTransactions: ["signed_transactions": [signedTransaction], "bundle_id": Self.bundleID]
        case .transactionID: ["transaction_id": Self.transactionID, "bundle_id": Self.bundleID]
        }
    }

    func verdict(by evidence: Evidence) async throws -> String {
        try await verdict(in: post(body(evidence), to: "/v1/verify").json)
    }

    /// Requests a signed answer about the receipt, and checks it as an app does.
    func signedVerdict(nonce: String) async throws -> String {
        let answer = try await post(
            body(.receipt), to: "/v1/verify", fields: ["Accept": "application/jose", "Gateway-Nonce": nonce])
        let keySet = try await gateway.get("/.well-known/jwks.json", port: gateway.dataPort)
        #expect(try APIDescription().faults(of: keySet, to: "GET", "/.well-known/jwks.json") == [])
        let claims = try PublishedKeys(keySet.json).claims(of: String(decoding: answer.body, as: UTF8.self))
        let now = Int(clock.now.millisecondsSince1970 / 1000)
        let issued = try #require(claims["iat"] as? Int), end = try #require(claims["exp"] as? Int)
        #expect(issued <= now && now < end)
        #expect(claims["nonce"] as? String == nonce && claims["aud"] as? String == Self.bundleID)
        let sent = try #require(Data(base64Encoded: receipt))
        let request = try #require(claims["request"] as? [String: String])
        #expect(request == ["receipt": PublishedKeys.digest([UInt8](sent))])
        return try verdict(in: #require(claims["answer"] as? [String: Any]))
    }

    private func verdict(in json: [String: Any]) throws -> String {
        let subscriptions = try #require(json["subscriptions"] as? [[String: Any]])
        try #require(subscriptions.count == 1)
        let subscription = subscriptions[0]
        #expect(subscription["product_id"] as? String == Self.productID)
        return Self.sentence(
            json["verdict"] as? String,
            [subscription["state"] as? String, dated("until", subscription["access_until_ms"])]
                .compactMap(\.self).joined(separator: " "))
    }

    // MARK: - Apple's form

    func appleForm() async throws -> String {
        try await appleForm(in: post(["receipt-data": receipt, "password": Sample.secret], to: "/verifyReceipt").json)
    }

    func formAPI() async throws -> String {
        let reply = try await gateway.form(AllClients.formKey, AllClients.formToken, receipt)
        #expect(try APIDescription().faults(of: reply.answer, to: "POST", "/api") == [])
        return try appleForm(in: reply.json)
    }

    private func appleForm(in json: [String: Any]) throws -> String {
        let latest = try #require(json["latest_receipt_info"] as? [[String: Any]])
        let newest = try #require(latest.max { (day($0["expires_date_ms"]) ?? 0) < (day($1["expires_date_ms"]) ?? 0) })
        let renewals = try #require(json["pending_renewal_info"] as? [[String: Any]])
        try #require(renewals.count == 1)
        #expect(newest["original_transaction_id"] as? String == Self.transactionID)
        return Self.sentence(
            (json["status"] as? Int).map { "status \($0)" }, dated("ends", newest["expires_date_ms"]),
            dated("cancelled", newest["cancellation_date_ms"]),
            dated("grace until", renewals[0]["grace_period_expires_date_ms"]),
            renewals[0]["is_in_billing_retry_period"] as? String == "1" ? "in billing retry" : nil)
    }

    // MARK: - Plugins

    /// Sends the receipt or the signed transaction as cordova-plugin-purchase does.
    func validated(signed: Bool) async throws -> String {
        let transaction =
            signed
            ? ["type": "apple-sk2", "id": Self.transactionID, "jwsRepresentation": signedTransaction]
            : ["type": "ios-appstore", "id": Self.transactionID, "appStoreReceipt": receipt]
        let json = try await post(
            ["id": Self.bundleID, "type": "application", "transaction": transaction], to: "/v1/validate",
            key: clients.appKey
        ).json
        #expect(json["ok"] as? Bool == true)
        let data = try #require(json["data"] as? [String: Any])
        // The whole history is known: the answer replaces the collection of the app.
        #expect(data["id"] as? String == Self.bundleID && data["warning"] == nil)
        let collection = try #require(data["collection"] as? [[String: Any]])
        try #require(collection.count == 1)
        let purchase = collection[0], reason = purchase["cancelationReason"] as? String
        #expect(purchase["id"] as? String == Self.productID)
        let isExpired = try #require(purchase["isExpired"] as? Bool)
        return Self.sentence(
            dated(isExpired ? "expired" : "owned until", purchase["expiryDate"]), purchase["renewalIntent"] as? String,
            purchase["isBillingRetryPeriod"] as? Bool == true ? "in billing retry" : nil, reason)
    }

    /// Sends the signed transaction as OpenIAP's libraries do.
    func verifiedPurchase() async throws -> String {
        let json = try await post(
            ["store": "apple", "jws": signedTransaction, "expectedProductId": Self.productID],
            to: "/v1/purchase/verify", key: clients.appKey
        ).json
        let state = try #require(json["state"] as? String)
        #expect(json["isValid"] as? Bool == (state == "ENTITLED") && json["productId"] as? String == Self.productID)
        return state
    }

    // MARK: - Events

    /// Waits for the event of a phase.
    func event(_ type: String) async throws -> String {
        var event: [String: Any] = [:]
        try await eventually("\(type) is an event") {
            let path = "/v1/events?types=\(type)"
            let answer = try await gateway.get(path, port: gateway.dataPort, key: clients.backendKey.text)
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            let events = try #require(try answer.json["events"] as? [[String: Any]])
            #expect(events.count <= 1)
            event = events.first ?? [:]
            return !events.isEmpty
        }
        let data = try #require(event["data"] as? [String: Any])
        #expect(data["original_transaction_id"] as? String == Self.transactionID)
        return Self.sentence(event["type"] as? String, dated("ends", data["expires_date_ms"]))
    }

    // MARK: - Parts

    private func post(
        _ body: [String: Any], to path: String, key: APIKey? = nil, fields: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        let answer = try await gateway.post(
            body, to: path, key: (key ?? clients.backendKey).text, fields: fields)
        try #require(answer.status == 200, "\(path): \(String(decoding: answer.body, as: UTF8.self))")
        #expect(try APIDescription().faults(of: answer, to: "POST", path) == [])
        #expect(answer.headers["gateway-degraded"] == nil, "\(path)")
        return answer
    }

    private func dated(_ words: String, _ milliseconds: Any?) -> String? {
        day(milliseconds).map { "\(words) day \($0)" }
    }

    private static func sentence(_ parts: String?...) -> String {
        parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", ")
    }
}
