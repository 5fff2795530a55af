// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import NIOHTTP1
import Resilience
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Customers
@testable import HTTPServer
@testable import ServerTestSupport
@testable import Settings

@Suite("GET /v1/events", .timeLimit(.patient))
struct EventRouteTests {
    private var site: EventSite { .current }

    // MARK: - Pages

    @Test(.eventSite) func `pages have all events in order, and a cursor to continue with`() async throws {
        for number in 0..<25 { site.add(number, chain: number % 5) }
        var ids: [String] = [], query = "?limit=10", pages = 0
        while true {
            let answer = try await site.get(query)
            #expect(answer.status == 200 && answer.missed == [])
            #expect(answer.raw?.headers["content-type"] == "application/json")
            #expect(answer.raw?.headers["cache-control"] == "no-store")
            ids += answer.ids
            pages += 1
            guard answer.hasMore == true else { break }
            query = "?limit=10&after=\(answer.next)"
        }
        #expect(pages == 3)
        for chain in 0..<5 {
            let ofChain = (0..<5).map { "evt_\(5 * $0 + chain)" }
            #expect(ids.filter(ofChain.contains) == ofChain)
        }
        #expect(ids.count == 25)
    }

    @Test(.eventSite) func `an event reads as it was written, with what Apple signed on request`() async throws {
        site.add(1)
        let thin = try await site.get()
        #expect(thin.raw?.body.hasPrefix(#"{"events":[{"id":"evt_1","type":"subscription.renewed"}],"next":""#) == true)
        let full = try await site.get("?signed_data=true")
        let signed = #""signed_data":{"signed_transaction":"e30.e30.AA"}}],"next":"#
        #expect(full.raw?.body.contains(signed) == true)
    }

    @Test(.eventSite) func `a filter leaves out other types, and the cursor passes them`() async throws {
        site.add(1, type: .purchaseRefunded)
        site.add(2)
        site.add(3, type: .purchaseCompleted)
        site.add(4)
        let page = try await site.get("?types=purchase.*")
        #expect(page.ids == ["evt_1", "evt_3"])
        #expect(try await site.get("?after=\(page.next)").ids == [])
        #expect(try await site.get("?types=purchase.completed,subscription.renewed").ids.count == 3)
    }

    @Test(.eventSite) func `latest begins now`() async throws {
        site.add(1)
        let page = try await site.get("?after=latest")
        #expect(page.ids == [] && page.hasMore == false)
        site.add(2)
        #expect(try await site.get("?after=\(page.next)").ids == ["evt_2"])
    }

    @Test(.eventSite(maximumCount: 5 * AppPartition.count))
    func `a reader that fell behind is told once what it missed`() async throws {
        site.add(0, chain: 1)
        let cursor = try await site.get().next
        for number in 1...20 { site.add(number, chain: 1) }
        let page = try await site.get("?limit=2&after=\(cursor)")
        #expect(page.missed == [["bundle_id": EventSite.app, "count": 15]] && page.ids == ["evt_16", "evt_17"])
        let next = try await site.get("?after=\(page.next)")
        #expect(next.missed == [] && next.ids == ["evt_18", "evt_19", "evt_20"])
    }

    @Test(.eventSite) func `HEAD does not wait`() async throws {
        try await RawConnection.with(port: site.port) { connection in
            let request = site.request("?wait=60").replacing("GET ", with: "HEAD ")
            try await connection.send(request)
            #expect(try await connection.answer(toHead: true)?.status == 200)
        }
    }

    // MARK: - Apps

    @Test(.eventSite) func `a client reads its own apps, and no others`() async throws {
        site.add(1)
        site.add(2, app: EventSite.otherApp)
        #expect(try await site.get(as: "shop").ids == ["evt_1"])
        #expect(try await site.get(as: "news").ids == ["evt_1", "evt_2"])
        #expect(try await site.get("?bundle_id=\(EventSite.otherApp)", as: "news").ids == ["evt_2"])
        let both = "?bundle_id=\(EventSite.otherApp)&bundle_id=\(EventSite.app)"
        #expect(try await site.get(both, as: "news").ids == ["evt_1", "evt_2"])
        let refused = try await site.get(both, as: "shop")
        #expect(refused.status == 403 && refused.code == "app_not_permitted")
        #expect(try await site.get(both, as: "any").ids == ["evt_1", "evt_2"])
    }

    @Test func `a client for any app, or for more than sixteen, names those to read`() async throws {
        try await EventSite.with { site in
            let unnamed = try await site.get(as: "any")
            #expect(unnamed.status == 400 && unnamed.code == "invalid_query" && unnamed.field == "bundle_id")
            let names = (1...17).map { "bundle_id=com.example.app\($0)" }
            #expect(try await site.get("?" + names.dropLast().joined(separator: "&"), as: "any").status == 200)
            let tooMany = try await site.get("?" + names.joined(separator: "&"), as: "any")
            #expect(tooMany.status == 400 && tooMany.detail.contains("at most 16"))
            #expect(try await site.get("?bundle_id=a%20b", as: "any").field == "bundle_id")
        }
        let client = Client(name: "shop", apps: .only(Set((1...17).map { "com.example.app\($0)" })), keys: [])
        let header = try RequestContext.forTests([:], .GET, "/v1/events").header
        #expect(throws: Problem.appsRequired) { try EventsCall(header, of: client, keepsSignedData: false) }
        let narrow = try RequestContext.forTests([:], .GET, "/v1/events?bundle_id=com.example.app17").header
        #expect(try EventsCall(narrow, of: client, keepsSignedData: false).apps == ["com.example.app17"])
    }

    @Test(.eventSite) func `a cursor counts only for apps that the request reads`() async throws {
        site.add(1)
        site.add(2, app: EventSite.otherApp)
        let cursor = try await site.get(as: "news").next
        #expect(try await site.get("?after=\(cursor)", as: "news").ids == [])
        for (query, client) in [("", "shop"), ("&bundle_id=\(EventSite.app)", "news")] {
            let answer = try await site.get("?after=\(cursor)\(query)", as: client)
            #expect(answer.status == 400 && answer.code == "invalid_cursor")
        }
        // An app that the cursor lacks begins at its oldest event.
        let own = try await site.get(as: "shop").next
        #expect(try await site.get("?after=\(own)", as: "news").ids == ["evt_2"])
    }

    // MARK: - Queries

    @Test(
        .eventSite,
        arguments: [
            ("?after=garbage", "invalid_cursor", nil), ("?after=", "invalid_cursor", nil),
            ("?after=AQ&after=AQ", "invalid_query", "after"), ("?limit=0", "invalid_query", "limit"),
            ("?limit=1001", "invalid_query", "limit"), ("?limit=ten", "invalid_query", "limit"),
            ("?wait=61", "invalid_query", "wait"), ("?wait=-1", "invalid_query", "wait"),
            ("?wait=1m", "invalid_query", "wait"), ("?types=", "invalid_query", "types"),
            ("?types=purchase.completed,", "invalid_query", "types"), ("?types=*", "invalid_query", "types"),
            ("?signed_data=yes", "invalid_query", "signed_data"), ("?limit", "invalid_query", "limit"),
            ("?page=2", "invalid_query", nil),
            // A request may have a cursor of any permitted length.
            ("?after=" + String(repeating: "A", count: EventCursor.Limits.textBytes), "invalid_cursor", nil),
            ("?" + Array(repeating: "limit=1", count: 65).joined(separator: "&"), "invalid_query", nil),
        ] as [(String, String, String?)])
    func `a query that is wrong gets a problem with its parameter`(
        query: String, code: String, field: String?
    ) async throws {
        let answer = try await site.get(query)
        #expect(answer.status == 400 && answer.code == code && answer.field == field, "\(answer.detail)")
    }

    @Test(
        .eventSite,
        arguments: ["?wait=0", "?wait=0s", "?limit=1000&types=subscription.*", "?signed_data=false", "?after=%41Q"])
    func `a query that is right gets a page`(query: String) async throws {
        let answer = try await site.get(query)
        #expect(answer.status == 200)
    }

    @Test(.eventSite(settings: { $0.keepsSignedData = false }))
    func `signed data that is not kept is a problem that names the setting`() async throws {
        let answer = try await site.get("?signed_data=true")
        #expect(answer.status == 400 && answer.detail.contains("gateway.events.keep_signed_data"))
    }

    // MARK: - The store

    @Test func `events that would end with the process are not offered`() async throws {
        try await RunningGateway.with { gateway in
            let answer = EventAnswer(try await gateway.ask("GET /v1/events?bundle_id=com.example.shop"))
            #expect(answer.status == 503 && answer.code == "events_not_stored")
            #expect(answer.detail.contains("gateway.notifications.allow_volatile"))
            #expect(answer.raw?.headers["retry-after"] == "60")
        }
        try await RunningGateway.with({ $0.notifications.allowsVolatile = true }) { gateway in
            let answer = EventAnswer(try await gateway.ask("GET /v1/events?bundle_id=com.example.shop"))
            #expect(answer.status == 200 && answer.ids == [])
        }
    }

    @Test(.eventSite(reading: { _ in SilentLog() }), arguments: ["", "?after=latest", "?wait=60"])
    func `an unreachable store is a problem, for pages and streams`(query: String) async throws {
        let query = query.hasPrefix("?wait") ? (page: query, stream: "") : (page: query, stream: query)
        let answers = [
            try await site.get(query.page), try await site.get(query.stream, ["Accept: text/event-stream"]),
        ]
        for answer in answers {
            #expect(answer.status == 503 && answer.code == "store_unreachable")
            #expect(answer.raw?.headers["retry-after"] == "1")
        }
    }

    // MARK: - Limits

    @Test func `each request is charged, also one that is wrong`() async throws {
        let rate = RatePolicy(name: "rate", quota: 3, window: .seconds(3600))
        let limits = ClientLimits(policies: [ClientPolicy(subject: .client, rate: rate)])
        try await EventSite.with(limits: limits) { site in
            #expect(try await site.get().raw?.headers["ratelimit"]?.contains("r=2") == true)
            #expect(try await site.get("?limit=0").status == 400)
            #expect(try await site.get("?after=latest").status == 200)
            let answer = try await site.get()
            #expect(answer.status == 429 && answer.raw?.body.contains(#""violated-policies":["rate"]"#) == true)
        }
    }
}
