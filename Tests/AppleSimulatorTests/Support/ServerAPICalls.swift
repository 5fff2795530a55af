// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// An answer of the App Store Server API, as a client reads it.
struct APIReply {
    let status: Int
    let headers: [String: String]
    let text: String
    let outcome: String

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    var errorCode: Int? { json["errorCode"] as? Int }
    var revision: String { json["revision"] as? String ?? "" }
    var hasMore: Bool? { json["hasMore"] as? Bool }
    var signed: [String] { json["signedTransactions"] as? [String] ?? [] }

    /// The claims of `signedTransactions`.
    var transactions: [[String: Any]] { signed.map(Self.claims) }
    var transactionIDs: [String] { transactions.compactMap { $0["transactionId"] as? String } }

    /// The elements of all groups of subscription statuses.
    var statuses: [SubscriptionClaims] {
        (json["data"] as? [[String: Any]] ?? []).flatMap { $0["lastTransactions"] as? [[String: Any]] ?? [] }
            .map(SubscriptionClaims.init)
    }

    /// Returns the claims of a JWS, unverified.
    static func claims(_ jws: String) -> [String: Any] {
        let parts = jws.split(separator: ".")
        guard parts.count == 3 else { return [:] }
        let payload = Base64URLDecoder.decode(parts[1].utf8.span) ?? []
        return (try? JSONSerialization.jsonObject(with: Data(payload))) as? [String: Any] ?? [:]
    }

    /// Returns the claims of a JWS in a member.
    func claims(of member: String) -> [String: Any] { Self.claims(json[member] as? String ?? "") }
}

/// A subscription in an answer or a notification, with the claims of what is signed.
struct SubscriptionClaims {
    let members: [String: Any]

    var originalTransactionID: String? { members["originalTransactionId"] as? String }
    var status: Int? { members["status"] as? Int }
    var transaction: [String: Any] { APIReply.claims(members["signedTransactionInfo"] as? String ?? "") }
    var renewal: [String: Any] { APIReply.claims(members["signedRenewalInfo"] as? String ?? "") }
}

extension TestStore {
    static let app = "com.example.app"

    /// A token that is valid now.
    var token: String { Samples.apiKey.token(bundleID: Self.app, issuedAt: UTCDate(clock.now)) }

    /// Calls the Server API.
    /// - Parameters:
    ///   - path: the path behind `/inApps/`, and a query.
    ///   - token: nil for the usual one.
    func call(
        _ path: String, _ method: HTTPMethod = .GET, _ body: String? = nil, token: String? = nil,
        at endpoint: Endpoint = .production
    ) throws -> APIReply {
        let head = head("/inApps/" + path, method, type: body == nil ? nil : "application/json", token: token)
        return try call(head, body ?? "", at: endpoint)
    }

    /// Returns the head of a call.
    /// - Parameters:
    ///   - type: the type of the body; nil without a body.
    ///   - token: nil for the usual one.
    func head(_ path: String, _ method: HTTPMethod, type: String?, token: String? = nil) -> HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: path)
        head.headers.add(name: "Authorization", value: "Bearer " + (token ?? self.token))
        if let type { head.headers.add(name: "Content-Type", value: type) }
        return head
    }

    func call(_ head: HTTPRequestHead, _ body: String = "", at endpoint: Endpoint = .production) throws -> APIReply {
        try call(head, bytes: Array(body.utf8), at: endpoint)
    }

    func call(_ head: HTTPRequestHead, bytes: [UInt8], at endpoint: Endpoint) throws -> APIReply {
        let request = try #require(APIRequest(head, body: bytes))
        let response = store.response(to: request, at: endpoint)
        store.stats.end()
        guard case .answer(let answer) = response.reply else { throw NoAnswer() }
        let headers = answer.head(keepAlive: true, at: store.serverNow).headers
        return APIReply(
            status: Int(answer.status.code), headers: Dictionary(headers.map { ($0.name, $0.value) }) { $1 },
            text: String(buffer: answer.body), outcome: response.outcome)
    }

    /// Lets the store know a customer by the answer to a receipt of the endpoint, and returns that answer.
    @discardableResult
    func know(_ receipt: ReceiptContents, at endpoint: Endpoint = .production) throws -> AppleAnswer {
        var receipt = receipt
        receipt.receiptType = endpoint == .production ? "Production" : "ProductionSandbox"
        let answer = try answer(to: Samples.body(receipt), at: endpoint)
        store.stats.end()
        return answer
    }

    /// Verifies a notification at the start of the test.
    static func verified(_ notification: String) throws -> VerifiedNotification {
        try verifier().verifyNotification(Array(notification.utf8), at: Samples.start.timestamp)
    }

    /// A verifier that trusts the simulator's root alone.
    static func verifier() throws -> ReceiptVerifier {
        let anchor = try TrustAnchor(der: Samples.transactionPKI.root.der, environments: [.production, .sandbox])
        return ReceiptVerifier(trustStore: TrustStore(anchors: [anchor]))
    }
}

extension Samples {
    /// Returns a customer with a number of consumables, bought a day apart.
    static func collector(items: Int) -> ReceiptContents {
        var receipt = plainReceipt()
        receipt.purchases = (0..<items).map { number in
            var item = PurchaseContents(
                productID: "com.example.app.gems", transactionID: String(5000 + number),
                purchaseDate: start.advanced(byDays: Int64(number - items)))
            item.productType = .consumable
            return item
        }
        return receipt
    }
}
