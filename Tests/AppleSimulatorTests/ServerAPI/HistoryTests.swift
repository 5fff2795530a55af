// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import ReceiptForge
import Testing

@testable import AppleSimulator

/// Pages, revisions and filters of the transaction history.
struct HistoryTests {
    private static let start = Samples.start.secondsSince1970 * 1000
    private static let day: Int64 = 86_400_000

    /// Returns the replies of all pages.
    private func pages(_ store: TestStore, _ path: String, _ query: String = "") throws -> [APIReply] {
        var replies = [try store.call("\(path)?\(query)")]
        while replies.last?.hasMore == true, replies.count < 10 {
            replies.append(try store.call("\(path)?\(query)&revision=\(replies[replies.count - 1].revision)"))
        }
        return replies
    }

    /// The IDs of the collector's transactions.
    private static func ids(_ numbers: Range<Int>) -> [String] { numbers.map { String(5000 + $0) } }

    @Test(arguments: ["v1", "v2"])
    func `pages have twenty transactions, each once, the oldest first`(version: String) throws {
        let store = try TestStore(knowing: Samples.collector(items: 45))
        let pages = try pages(store, "\(version)/history/5000")
        #expect(pages.map(\.transactionIDs.count) == [20, 20, 5])
        #expect(pages.flatMap(\.transactionIDs) == Self.ids(0..<45))
        #expect(pages.map(\.hasMore) == [true, true, false])
        #expect(pages[0].json["bundleId"] as? String == TestStore.app)
        #expect(pages[0].json["environment"] as? String == "Production" && pages[0].json["appAppleId"] as? Int64 != nil)
    }

    @Test func `twenty transactions are one page`() throws {
        let store = try TestStore(knowing: Samples.collector(items: 20))
        #expect(try pages(store, "v2/history/5000").map(\.transactionIDs.count) == [20])
    }

    @Test func `in the descending order the newest come first`() throws {
        let store = try TestStore(knowing: Samples.collector(items: 45))
        let pages = try pages(store, "v2/history/5000", "sort=DESCENDING")
        #expect(pages.flatMap(\.transactionIDs) == Self.ids(0..<45).reversed())
    }

    @Test(arguments: ["ASCENDING", "DESCENDING"])
    func `the last revision later gives only what changed`(sort: String) throws {
        let store = try TestStore(knowing: Samples.receipt())
        let path = "v2/history/1000?sort=\(sort)"
        let first = try store.call(path)
        let unchanged = try store.call(path + "&revision=\(first.revision)")
        #expect(unchanged.status == 200 && unchanged.transactionIDs.isEmpty && unchanged.hasMore == false)
        store.store.play(try Scenario(yaml: "stories: {default: {refunded: 1}}"))
        let changed = try store.call(path + "&revision=\(unchanged.revision)")
        #expect(Set(changed.transactionIDs) == ["1001", "2000"])
        #expect(try store.call(path + "&revision=\(changed.revision)").transactionIDs.isEmpty)
        #expect(try store.call(path).transactionIDs.count == 3)
    }

    @Test(arguments: ["ASCENDING", "DESCENDING"])
    func `many changes since a revision are paged, too`(sort: String) throws {
        let store = try TestStore(knowing: Samples.collector(items: 30))
        let path = "v2/history/5000?sort=\(sort)"
        var revision = ""
        for reply in try pages(store, "v2/history/5000", "sort=\(sort)") { revision = reply.revision }
        for number in 0..<25 {
            _ = try store.call("v1/transactions/\(5000 + number)/appAccountToken", .PUT, WriteTests.tokenBody)
        }
        let first = try store.call(path + "&revision=\(revision)")
        let second = try store.call(path + "&revision=\(first.revision)")
        #expect(first.transactionIDs.count == 20 && first.hasMore == true)
        #expect(second.transactionIDs.count == 5 && second.hasMore == false)
        let ids = first.transactionIDs + second.transactionIDs
        #expect(ids.sorted() == Self.ids(0..<25) && (ids[0] == "5000") == (sort == "ASCENDING"))
        #expect(try store.call(path + "&revision=\(second.revision)").transactionIDs.isEmpty)
    }

    @Test func `a transaction that changes between pages comes again at the end`() throws {
        let store = try TestStore(knowing: Samples.collector(items: 25))
        let first = try store.call("v2/history/5000")
        _ = try store.call("v1/transactions/5003/appAccountToken", .PUT, WriteTests.tokenBody)
        let second = try store.call("v2/history/5000?revision=\(first.revision)")
        #expect(second.transactionIDs == ["5020", "5021", "5022", "5023", "5024", "5003"])
    }

    @Test(arguments: [
        "x", "1", "1_x", "-1_check", "_", "1-2_check", "1-2-3-4_check", "1--3_check", "99999999999999999999_check",
    ])
    func `a revision that is none is refused`(text: String) throws {
        let store = try TestStore(knowing: Samples.receipt())
        let revision = try store.call("v2/history/1000").revision
        let check = revision.split(separator: "_").last.map { String($0) } ?? ""
        let query = text.replacing("check", with: check)
        #expect(try store.call("v2/history/1000?revision=\(query)").errorCode == 4_000_005)
    }

    @Test func `a revision of another customer is refused`() throws {
        let store = try TestStore(knowing: Samples.receipt())
        try store.know(Samples.collector(items: 2))
        let revision = try store.call("v2/history/1000").revision
        #expect(try store.call("v2/history/5000?revision=\(revision)").errorCode == 4_000_005)
    }

    @Test(arguments: [
        ("", ["1000", "1001", "2000"]), ("productId=com.example.app.gems", ["2000"]),
        ("productId=com.example.app.gems&productId=com.example.app.monthly", ["1000", "1001", "2000"]),
        ("productType=AUTO_RENEWABLE", ["1000", "1001"]), ("productType=CONSUMABLE", ["2000"]),
        ("productType=NON_CONSUMABLE&productType=NON_RENEWABLE", []),
        ("subscriptionGroupIdentifier=20000001", ["1000", "1001"]), ("subscriptionGroupIdentifier=7", []),
        ("inAppOwnershipType=PURCHASED", ["1000", "1001", "2000"]), ("inAppOwnershipType=FAMILY_SHARED", []),
        ("revoked=true", []), ("revoked=False", ["1000", "1001", "2000"]),
        ("startDate=\(start - 20 * day)", ["1001", "2000"]), ("startDate=\(start - 20 * day + 1)", ["2000"]),
        ("endDate=\(start - 20 * day)", ["1000"]), ("endDate=\(start - 20 * day + 1)", ["1000", "1001"]),
        ("startDate=\(start - 21 * day)&endDate=\(start - 6 * day)", ["1001"]),
        ("productType=AUTO_RENEWABLE&sort=DESCENDING", ["1001", "1000"]),
    ])
    func `filters select`(query: String, ids: [String]) throws {
        let store = try TestStore(knowing: Samples.receipt())
        #expect(try store.call("v2/history/1000?" + query).transactionIDs == ids)
        #expect(try store.call("v1/history/1000?" + query).transactionIDs == ids)
    }

    @Test func `refunds and family sharing are filters`() throws {
        let store = try TestStore("stories: {default: {refunded: 0}}", knowing: Samples.receipt())
        #expect(try store.call("v2/history/1000?revoked=true").transactionIDs == ["1001", "2000"])
        store.store.play(try Scenario(yaml: "stories: {rules: [{product_id_suffix: .gems, story: family_shared}]}"))
        #expect(try store.call("v2/history/1000?inAppOwnershipType=FAMILY_SHARED").transactionIDs == ["2000"])
    }

    @Test(arguments: [
        ("startDate=x", 4_000_015), ("endDate=-1", 4_000_016), ("startDate=2&endDate=2", 4_000_013),
        ("sort=UP", 4_000_021), ("productType=consumable", 4_000_022), ("productId=", 4_000_023),
        ("subscriptionGroupIdentifier=a", 4_000_024), ("inAppOwnershipType=MINE", 4_000_026), ("revoked=1", 4_000_030),
    ])
    func `a wrong filter has its error`(query: String, code: Int) throws {
        let store = try TestStore(knowing: Samples.receipt())
        let reply = try store.call("v2/history/1000?" + query)
        #expect(reply.status == 400 && reply.errorCode == code)
    }

    @Test func `refunds come in their order, twenty a page`() throws {
        let store = try TestStore("stories: {default: {refunded: 1}}", knowing: Samples.collector(items: 23))
        let pages = try pages(store, "v2/refund/lookup/5000")
        #expect(pages.map(\.transactionIDs.count) == [20, 3])
        let dates = pages.flatMap(\.transactions).compactMap { $0["revocationDate"] as? Int64 }
        #expect(dates.count == 23 && dates == dates.sorted())
    }
}
