// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// The requests about notifications, and the filters of their history.
struct NotificationRequestTests {
    private static let app = #""bundle_id":"com.example.app","environment":"production""#

    private func store(limits: SimulatorLimits = SimulatorLimits()) throws -> TestStore {
        try TestStore(limits: limits, knowing: Samples.receipt())
    }

    private func addCustomers(_ count: Int, to store: TestStore) throws {
        #expect(try store.control(.PUT, "/customers", "{\(Self.app),\"count\":\(count)}").status == 200)
    }

    @Test func `one request is about many customers`() async throws {
        let store = try store()
        try addCustomers(30, to: store)
        let uuids = try await store.notify(#""type":"DID_RENEW","count":25,"first_customer":5"#)
        #expect(Set(uuids).count == 25)
        let pages = [try store.notificationHistory(), try store.notificationHistory(page: "page-20")]
        #expect(pages[0].nextPage == "page-20" && pages[0].reply.hasMore == true)
        #expect(pages[1].nextPage == nil && pages[1].reply.hasMore == false)
        #expect(pages.flatMap { $0.items.map(\.uuid) } == uuids)
        let first = pages[0].items[0].data.transaction
        #expect(first["originalTransactionId"] as? String == "2000001005000000")
    }

    @Test func `populations of an app continue each other`() async throws {
        let store = try store()
        try addCustomers(2, to: store)
        let more = #"{\#(Self.app),"count":2,"first_transaction_id":7000000}"#
        #expect(try store.control(.PUT, "/customers", more).status == 200)
        let ids = store.store.customers.originalTransactionIDs(
            of: AppInStore(bundleID: TestStore.app, endpoint: .production), from: 1, count: 2)
        #expect(ids == ["2000001001000000", "7000000"])
    }

    @Test(arguments: [
        (#""type":"DID_RENEW""#, "'original_transaction_id' is missing."),
        (#""original_transaction_id":"1000""#, "'type' is missing."),
        (#""type":"renew","original_transaction_id":"1000""#, "'type' takes a name such as DID_RENEW."),
        (#""type":"DID_RENEW","original_transaction_id":"999""#, "No customer of this app has the ID 999 here."),
        (#""type":"DID_RENEW","count":1"#, "'count' takes at most the number of customers, which is 0 here."),
        (#""type":"DID_RENEW","count":10001"#, "'count' takes a whole number from 1 to 10000."),
        (#""type":"DID_RENEW","transaction_id":"1000","times":101"#, "'times' takes a whole number from 1 to 100."),
        (#""type":"DID_RENEW","transaction_id":"1000","delay":601"#, "'delay' takes a number from 0.0 to 600.0."),
        (#""type":"DID_RENEW","transaction_id":"1000","deliver":0"#, "'deliver' takes true or false."),
        (#""type":"DID_RENEW","transaction_id":"1000","again":1"#, "'again' is unknown here."),
    ])
    func `a request with a fault is explained`(members: String, message: String) throws {
        let answer = try store().control(.POST, "/notifications", "{\(Self.app),\(members)}")
        #expect(answer.status == 422 && answer.body == message + "\n")
    }

    @Test(arguments: [
        "https://127.0.0.1/", "http://example.com/", "http://10.0.0.1:80/", "127.0.0.1:80", "http://a@127.0.0.1/", "",
        "http://127.0.0.1.example.com/", "file:///tmp",
    ])
    func `notifications stay on this machine`(url: String) throws {
        #expect(NotificationURL(url) == nil)
        #expect(try TestStore().control(.PUT, "/notifications", #"{\#(Self.app),"url":"\#(url)"}"#).status == 422)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080/a/b?c=d", "127.0.0.1:8080", "/a/b?c=d"), ("http://localhost", "localhost:80", "/"),
        ("HTTP://[::1]:9/x%20y", "[::1]:9", "/x%20y"),
    ])
    func `a URL has an authority and a target`(text: String, authority: String, target: String) throws {
        let url = try #require(NotificationURL(text))
        #expect(url.authority == authority && url.target == target)
    }

    @Test(arguments: [
        (#","notificationType":"DID_RENEW""#, ["DID_RENEW", "DID_RENEW"]),
        (#","notificationType":"DID_RENEW","notificationSubtype":"BILLING_RECOVERY""#, ["DID_RENEW"]),
        (#","notificationType":"REVOKE""#, []), (#","transactionId":"1001""#, ["DID_RENEW", "EXPIRED"]),
        (#","transactionId":"2000001000000000""#, ["DID_RENEW"]), (#","transactionId":"77""#, []),
        ("", ["DID_RENEW", "EXPIRED", "DID_RENEW"]),
    ])
    func `the history has filters`(filter: String, types: [String]) async throws {
        let store = try store()
        try addCustomers(1, to: store)
        try await store.notify(#""type":"DID_RENEW","subtype":"BILLING_RECOVERY","original_transaction_id":"1000""#)
        try await store.notify(#""type":"EXPIRED","transaction_id":"700000000000001000""#)
        try await store.notify(#""type":"DID_RENEW","count":1"#)
        let found = try store.notificationHistory(filter).items.map(\.claims)
        #expect(found.map { $0["notificationType"] as? String } == types)
    }

    @Test func `the history has dates, and an environment`() async throws {
        let store = try store()
        try await store.notify(#""type":"DID_RENEW","original_transaction_id":"1000""#)
        let start = Samples.start.millisecondsSince1970
        for (dates, count) in [((start, start), 1), ((start + 1, start + 2), 0), ((start - 2, start - 1), 0)] {
            let body = #"{"startDate":\#(dates.0),"endDate":\#(dates.1)}"#
            let reply = try store.call("v1/notifications/history", .POST, body)
            #expect(HistoryReply(reply: reply).items.count == count)
        }
        #expect(try store.notificationHistory(at: .sandbox).items.isEmpty)
    }

    @Test(arguments: ["page-0", "page-", "page--1", "x", "page-9223372036854775807"])
    func `a page has a number`(token: String) throws {
        #expect(try store().notificationHistory(page: token).reply.errorCode == 4_000_014)
    }

    @Test func `a forged history has payloads that no signature covers`() async throws {
        let store = try TestStore(
            "faults: [{fault: {tampered: expires_2099}, api: server_api}]", knowing: Samples.receipt())
        try await store.notify(#""type":"DID_RENEW","original_transaction_id":"1000""#)
        let item = try #require(try store.notificationHistory().items.first)
        #expect(item.claims["forged"] as? Bool == true)
        #expect(throws: ReceiptError.self) { try TestStore.verified(item.signedPayload) }
    }
}
