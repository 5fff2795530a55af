// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Testing

@testable import AppleSimulator

/// The operations that write: both interfaces show what they changed.
struct WriteTests {
    static let uuid = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    static let tokenBody = "{\"appAccountToken\":\"\(uuid)\"}"
    private static let day: Int64 = 86_400_000

    private func store(_ yaml: String = "") throws -> TestStore {
        try TestStore(yaml, knowing: Samples.receipt())
    }

    private static func extend(_ days: Int, reason: Int = 1, identifier: String = "request-1", _ more: String = "")
        -> String
    {
        "{\"extendByDays\":\(days),\"extendReasonCode\":\(reason),\"requestIdentifier\":\"\(identifier)\"\(more)}"
    }

    /// Returns the end of the newest period of both interfaces, in days from the start.
    private func ends(_ store: TestStore) throws -> [Int64?] {
        let element = try store.know(Samples.receipt()).newest["expires_date_ms"]
        let claims = try store.call("v1/transactions/1001").claims(of: "signedTransactionInfo")
        let milliseconds = [element.flatMap { Int64($0) }, claims["expiresDate"] as? Int64]
        return milliseconds.map { $0.map { ($0 - Samples.start.secondsSince1970 * 1000) / Self.day } }
    }

    @Test func `an app account token is in the chain's transactions, its renewal and verifyReceipt`() throws {
        let store = try store()
        let reply = try store.call("v1/transactions/1000/appAccountToken", .PUT, Self.tokenBody)
        #expect(reply.status == 200 && reply.text.isEmpty)
        let tokens = try store.call("v2/history/1000").transactions.map { $0["appAccountToken"] as? String }
        #expect(tokens == [nil, Self.uuid, Self.uuid] || tokens == [Self.uuid, Self.uuid, nil])
        let answer = try store.know(Samples.receipt())
        #expect(answer.newest["app_account_token"] == Self.uuid)
        let status = try #require(try store.call("v1/subscriptions/1000").statuses.first)
        #expect(status.renewal["appAccountToken"] as? String == Self.uuid)
    }

    @Test(arguments: [
        ("1000", "{\"appAccountToken\":\"x\"}", "as_in_receipt", 4_000_183), ("1000", "{}", "as_in_receipt", 4_000_183),
        ("1001", tokenBody, "as_in_receipt", 4_000_187), ("1000", tokenBody, "family_shared", 4_000_185),
        ("999", tokenBody, "as_in_receipt", 4_040_010),
    ])
    func `a wrong app account token has its error`(id: String, body: String, story: String, code: Int) throws {
        let store = try store("stories: {default: \(story)}")
        #expect(try store.call("v1/transactions/\(id)/appAccountToken", .PUT, body).errorCode == code)
    }

    @Test func `an extension moves the end for both`() throws {
        let store = try store()
        #expect(try ends(store) == [10, 10])
        let reply = try store.call("v1/subscriptions/extend/1000", .PUT, Self.extend(5))
        #expect(reply.status == 200 && reply.json["success"] as? Bool == true)
        #expect(reply.json["originalTransactionId"] as? String == "1000")
        #expect(reply.json["webOrderLineItemId"] as? String == "77")
        let effective = try #require(reply.json["effectiveDate"] as? Int64)
        #expect((effective / 1000 - Samples.start.secondsSince1970) / 86_400 == 15)
        #expect(try ends(store) == [15, 15])
        store.clock.advance(bySeconds: 12 * 86_400)
        #expect(try store.call("v1/subscriptions/1000").statuses.first?.status == 1)
    }

    @Test func `a subscription is extended twice a year`() throws {
        let store = try store()
        let replies = try (0..<3).map { _ in try store.call("v1/subscriptions/extend/1000", .PUT, Self.extend(1)) }
        #expect(replies.map(\.status) == [200, 200, 403] && replies[2].errorCode == 4_030_005)
        #expect(try ends(store) == [12, 12])
    }

    @Test(arguments: [
        ("1000", extend(0), "as_in_receipt", 4_000_009), ("1000", extend(91), "as_in_receipt", 4_000_009),
        ("1000", extend(1, reason: 4), "as_in_receipt", 4_000_010),
        ("1000", extend(1, identifier: ""), "as_in_receipt", 4_000_011),
        ("x", extend(1), "as_in_receipt", 4_000_008), ("1001", extend(1), "as_in_receipt", 4_000_008),
        ("999", extend(1), "as_in_receipt", 4_040_005), ("2000", extend(1), "as_in_receipt", 4_030_004),
        ("1000", extend(1), "{refunded: 1}", 4_030_004), ("1000", extend(1), "family_shared", 4_030_007),
    ])
    func `a wrong extension has its error`(id: String, body: String, story: String, code: Int) throws {
        let store = try store("stories: {default: \(story)}")
        #expect(try store.call("v1/subscriptions/extend/\(id)", .PUT, body).errorCode == code)
    }

    @Test(arguments: ["v1/subscriptions/extend/mass", "v1/subscriptions/extend/mass/"])
    func `a mass extension reaches the product's customers and has a status`(path: String) throws {
        let store = try store()
        try store.know(Samples.collector(items: 1))
        try store.store.customers.add(Population.sample(count: 3))
        let products = [("monthly", 10 + 4), ("weekly", 10)]
        for (name, end) in products.reversed() {
            let product = "com.example.app.\(name)"
            let body = Self.extend(4, identifier: name, ",\"productId\":\"\(product)\"")
            #expect(try store.call(path, .POST, body).json["requestIdentifier"] as? String == name)
            let status = try store.call("v1/subscriptions/extend/mass/\(product)/\(name)")
            #expect(status.json["complete"] as? Bool == true && status.json["failedCount"] as? Int == 0)
            #expect(status.json["succeededCount"] as? Int == (end == 10 ? 0 : 1))
            #expect(try ends(store) == [Int64(end), Int64(end)])
        }
    }

    @Test func `a mass extension reaches populations that were not asked about`() throws {
        let store = try TestStore()
        try store.store.customers.add(Population.sample(count: 1))
        let id = AppleSimulator.transactionID(ofCustomer: 0)
        let product = TestStore.app + ".premium.monthly"
        let body = Self.extend(4, ",\"productId\":\"\(product)\"")
        #expect(try store.call("v1/subscriptions/extend/mass", .POST, body).status == 200)
        let claims = try store.call("v1/transactions/\(id)").claims(of: "signedTransactionInfo")
        #expect(claims["expiresDate"] as? Int64 == Samples.start.advanced(byDays: 33).secondsSince1970 * 1000)
    }

    @Test(arguments: [
        (extend(1), 4_000_023), (extend(1, ",\"productId\":\"a\",\"storefrontCountryCodes\":[]"), 4_000_027),
        (extend(1, ",\"productId\":\"a\",\"storefrontCountryCodes\":[\"D\"]"), 4_000_028),
        (extend(0, ",\"productId\":\"a\""), 4_000_009),
    ])
    func `a wrong mass extension has its error`(body: String, code: Int) throws {
        #expect(try store().call("v1/subscriptions/extend/mass", .POST, body).errorCode == code)
    }

    @Test func `other storefronts have no customers`() throws {
        let store = try store()
        let body = Self.extend(
            4, ",\"productId\":\"com.example.app.monthly\",\"storefrontCountryCodes\":[\"USA\"]")
        #expect(try store.call("v1/subscriptions/extend/mass", .POST, body).status == 200)
        #expect(try ends(store) == [10, 10])
    }

    @Test func `a finished consumable leaves version 1 of the history, and verifyReceipt`() throws {
        let store = try store()
        #expect(try store.call("v1/history/1000").transactionIDs.count == 3)
        let reply = try store.call("v1/transactions/2000/finish", .POST)
        #expect(reply.status == 200 && reply.text.isEmpty)
        #expect(try store.call("v1/history/1000").transactionIDs == ["1000", "1001"])
        #expect(try store.call("v2/history/1000").transactionIDs.count == 3)
        let latest = try store.know(Samples.receipt()).latest.compactMap { $0["transaction_id"] }
        #expect(Set(latest) == ["1000", "1001"])
    }

    @Test func `subscriptions stay in the history when they are finished`() throws {
        let store = try store()
        #expect(try store.call("v1/transactions/1001/finish", .POST).status == 200)
        #expect(try store.call("v1/history/1000").transactionIDs.count == 3)
    }

    private static func consumption(
        consented: String = "true", status: String = "\"DELIVERED\"", sample: String = "false", _ more: String = ""
    ) -> String {
        "{\"customerConsented\":\(consented),\"deliveryStatus\":\(status),\"sampleContentProvided\":\(sample)\(more)}"
    }

    @Test(arguments: [
        ("2000", consumption()), ("1001", consumption()), ("2000", consumption(",\"consumptionPercentage\":50000")),
        ("2000", consumption(status: "\"UNDELIVERED_OTHER\"", ",\"refundPreference\":\"GRANT_PRORATED\"")),
    ])
    func `consumption information is accepted`(id: String, body: String) throws {
        let reply = try store().call("v2/transactions/consumption/\(id)", .PUT, body)
        #expect(reply.status == 202 && reply.text.isEmpty && reply.outcome == "http_202")
    }

    @Test(arguments: [
        ("2000", consumption(consented: "false"), 4_000_035), ("2000", consumption(status: "0"), 4_000_036),
        ("2000", consumption(status: "\"LOST\""), 4_000_036), ("2000", consumption(sample: "1"), 4_000_041),
        ("2000", consumption(",\"consumptionPercentage\":100001"), 4_000_000),
        ("1001", consumption(",\"consumptionPercentage\":1"), 4_000_000),
        ("2000", consumption(",\"refundPreference\":\"KEEP\""), 4_000_000), ("999", consumption(), 4_040_010),
    ])
    func `wrong consumption information has its error`(id: String, body: String, code: Int) throws {
        #expect(try store().call("v2/transactions/consumption/\(id)", .PUT, body).errorCode == code)
    }

    @Test func `version 1 of consumption information is about consumables`() throws {
        let store = try store()
        let body = "{\"customerConsented\":true}"
        #expect(try store.call("v1/transactions/consumption/2000", .PUT, body).status == 202)
        #expect(try store.call("v1/transactions/consumption/1001", .PUT, body).errorCode == 4_000_043)
    }

    @Test func `customers beyond the limit of accounts cannot be changed`() throws {
        var limits = SimulatorLimits()
        limits.maximumAccounts = 1
        let store = try TestStore(limits: limits)
        try store.store.customers.add(Population.sample(count: 2))
        let ids = (0..<2).map { AppleSimulator.transactionID(ofCustomer: $0) }
        let replies = try ids.map { try store.call("v1/transactions/\($0)/appAccountToken", .PUT, Self.tokenBody) }
        #expect(replies.map(\.status) == [200, 500] && replies[1].errorCode == 5_000_000)
        #expect(try store.call("v2/history/\(ids[1])").status == 200 && store.store.customers.count == 1)
    }
}

extension Population {
    static func sample(count: Int64, at endpoint: Endpoint = .production) -> Population {
        Population(
            app: AppInStore(bundleID: TestStore.app, endpoint: endpoint), count: count,
            firstTransactionID: defaultFirstTransactionID, createdAt: Samples.start)
    }
}
