// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Testing

@testable import AppleSimulator

/// The operations that read, and the errors of all.
struct OperationTests {
    private func store(_ yaml: String = "") throws -> TestStore {
        try TestStore(yaml, knowing: Samples.receipt())
    }

    @Test(arguments: ["1000", "1001", "2000"])
    func `transaction info is about the transaction`(id: String) throws {
        let reply = try store().call("v1/transactions/\(id)")
        #expect(reply.status == 200 && reply.claims(of: "signedTransactionInfo")["transactionId"] as? String == id)
        #expect(reply.headers["Content-Type"] == "application/json")
    }

    @Test(arguments: ["1000", "1001", "2000", "700000000000001000"])
    func `any ID finds the customer`(id: String) throws {
        let store = try store()
        #expect(try store.call("v2/history/\(id)").transactionIDs.count == 3)
        #expect(try store.call("v1/subscriptions/\(id)").statuses.count == 1)
        let app = try store.call("v1/transactions/appTransactions/\(id)").claims(of: "signedAppTransactionInfo")
        #expect(app["appTransactionId"] as? String == "700000000000001000")
    }

    @Test func `transactions of a story are found, too`() throws {
        let store = try TestStore("stories: {default: renewed}")
        let id = try #require(try store.know(Samples.receipt()).newest["transaction_id"])
        #expect(id == "11001")
        #expect(try store.call("v1/transactions/\(id)").status == 200)
    }

    @Test(arguments: [("status=1", 1), ("status=2", 0), ("status=2&status=1", 1), ("", 1)])
    func `statuses are filtered`(query: String, count: Int) throws {
        let reply = try store().call("v1/subscriptions/1000?" + query)
        #expect(reply.status == 200 && reply.statuses.count == count)
        #expect(reply.json["bundleId"] as? String == TestStore.app)
    }

    @Test func `an order has its transaction, in production only`() throws {
        let store = try store()
        try store.know(Samples.receipt(), at: .sandbox)
        let order = "M" + String(1001, radix: 36, uppercase: true)
        let reply = try store.call("v1/lookup/\(order)")
        #expect(reply.json["status"] as? Int == 0 && reply.transactionIDs == ["1001"])
        for unknown in [
            try store.call("v1/lookup/M0"), try store.call("v1/lookup/1001"),
            try store.call("v1/lookup/\(order)", at: .sandbox),
        ] {
            #expect(unknown.status == 200 && unknown.json["status"] as? Int == 1 && unknown.signed.isEmpty)
        }
    }

    @Test func `environments and apps have customers of their own`() throws {
        let store = try store()
        #expect(try store.call("v2/history/1000", at: .sandbox).errorCode == 4_040_010)
        let other = Samples.apiKey.token(bundleID: "com.example.other", issuedAt: Samples.start)
        #expect(try store.call("v2/history/1000", token: other).errorCode == 4_040_010)
    }

    /// A body of the notification history for the days around the start.
    private static func dates(_ more: String = "", days: Int64 = 1) -> String {
        let start = Samples.start.secondsSince1970
        return "{\"startDate\":\((start - days * 86_400) * 1000),\"endDate\":\((start + 86_400) * 1000)\(more)}"
    }

    @Test(arguments: [
        ("GET", "v1/transactions/abc", 4_000_006), ("GET", "v1/transactions/0", 4_000_006),
        ("GET", "v2/history/\(String(repeating: "9", count: 33))", 4_000_006),
        ("GET", "v1/transactions/999", 4_040_010), ("GET", "v2/history/999", 4_040_010),
        ("GET", "v1/subscriptions/999", 4_040_010), ("GET", "v1/transactions/appTransactions/999", 4_040_010),
        ("GET", "v2/refund/lookup/999", 4_040_010), ("GET", "v1/transactions/700000000000001000", 4_000_048),
        ("POST", "v1/transactions/700000000000001000/finish", 4_000_048),
        ("GET", "v1/subscriptions/1000?status=6", 4_000_031), ("GET", "v1/subscriptions/1000?status=a", 4_000_031),
        ("GET", "v1/notifications/test/abc", 4_000_020),
        ("GET", "v1/notifications/test/0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01_1", 4_040_008),
        ("GET", "v1/subscriptions/extend/mass/com.example.app.monthly/none", 4_040_009),
    ])
    func `an error has its code, its status and a message`(method: String, path: String, code: Int) throws {
        let reply = try store().call(path, HTTPMethod(rawValue: method))
        #expect(reply.errorCode == code && reply.status == code / 10_000 && reply.outcome == "error_\(code)")
        #expect((reply.json["errorMessage"] as? String)?.isEmpty == false)
    }

    @Test(arguments: [
        ("{}", 4_000_015), ("{\"startDate\":1}", 4_000_016), ("{\"startDate\":2,\"endDate\":1}", 4_000_013),
        (dates(days: 181), 4_000_012), (dates(",\"notificationType\":\"test\""), 4_000_018),
        (dates(",\"notificationSubtype\":\"VOLUNTARY\""), 4_000_018),
        (dates(",\"notificationType\":\"TEST\",\"transactionId\":\"1000\""), 4_000_019),
        (dates(",\"transactionId\":\"x\""), 4_000_006), ("[]", 4_000_000), ("{", 4_000_000),
    ])
    func `the notification history checks its request`(body: String, code: Int) throws {
        #expect(try store().call("v1/notifications/history", .POST, body).errorCode == code)
    }

    @Test func `the sandbox has notifications of thirty days`() throws {
        let store = try store()
        let body = Self.dates(days: 31)
        #expect(try store.call("v1/notifications/history", .POST, body).status == 200)
        #expect(try store.call("v1/notifications/history", .POST, body, at: .sandbox).errorCode == 4_000_012)
    }

    @Test(arguments: [("GET", "v3/history/1000", 404), ("POST", "v2/history/1000", 405), ("GET", "", 404)])
    func `other paths and methods are none`(method: String, path: String, status: Int) throws {
        #expect(try store().call(path, HTTPMethod(rawValue: method)).status == status)
    }

    @Test func `unknown apps and customers without an app receipt have their errors`() throws {
        #expect(
            try store("unknown_apps: [\(TestStore.app)]").call("v2/history/1000").errorCode == 4_040_003)
        let store = try TestStore()
        _ = store.response(to: Samples.body(Samples.transactionReceipt()))
        #expect(try store.call("v1/transactions/1001").status == 200)
        #expect(try store.call("v1/transactions/appTransactions/1001").errorCode == 4_040_019)
    }
}
