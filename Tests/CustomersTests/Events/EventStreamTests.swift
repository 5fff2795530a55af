// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Receipts
import Synchronization
import Telemetry
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Customers
@testable import HTTPServer
@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// Requests that wait, and streams.
@Suite("Waiting for events, over HTTP", .timeLimit(.patient))
struct EventStreamTests {
    private var site: EventSite { .current }

    // MARK: - Long polls

    @Test(.eventSite) func `a request that waits is answered when the first event arrives`() async throws {
        let cursor = try await site.get().next
        try await RawConnection.with(port: site.port) { connection in
            try await connection.send(site.request("?wait=60s&after=\(cursor)"))
            try await eventually { site.watcher.count == 1 }
            site.add(1)
            #expect(EventAnswer(try await connection.answer()).ids == ["evt_1"])
            // The connection is of use for the next request.
            try await connection.send(site.request())
            #expect(EventAnswer(try await connection.answer()).ids == ["evt_1"])
        }
    }

    @Test(.eventSite) func `an event of another node wakes the request as well`() async throws {
        async let answer = site.get("?wait=60")
        try await eventually { site.watcher.count == 1 }
        site.add(1, announces: false)
        #expect(try await answer.ids == ["evt_1"])
    }

    @Test(.eventSite) func `events of other types do not end the wait, and the cursor passes them`() async throws {
        async let answer = site.get("?wait=60&types=purchase.*")
        try await eventually { site.watcher.count == 1 }
        site.add(1)
        site.add(2, type: .purchaseCompleted)
        let page = try await answer
        #expect(page.ids == ["evt_2"])
        #expect(try await site.get("?after=\(page.next)").ids == [])
    }

    @Test(.eventSite(maximumCount: AppPartition.count))
    func `events that are there, or missed, are answered at once`() async throws {
        site.add(1, chain: 1)
        let page = try await site.get("?wait=60")
        #expect(page.ids == ["evt_1"])
        for number in 2...3 { site.add(number, chain: 1) }
        #expect(try await site.get("?wait=60&after=\(page.next)").missed?.count == 1)
    }

    @Test(.eventSite(answer: Patience.forLimit))
    func `a wait without events ends with an empty page and the same cursor`() async throws {
        site.add(1)
        let cursor = try await site.get().next
        // Longer than the deadline of other answers.
        let seconds = Int(Patience.forLimit / .seconds(1)) + 1
        let page = try await site.get("?wait=\(seconds)&after=\(cursor)")
        #expect(page.status == 200 && page.ids == [] && page.next == cursor && page.hasMore == false)
    }

    @Test(.eventSite(limits: ClientLimits(concurrency: 1)))
    func `a wait holds no concurrency slot`() async throws {
        async let answer = site.get("?wait=60")
        try await eventually { site.watcher.count == 1 }
        #expect(try await site.get().status == 200)
        site.add(1)
        #expect(try await answer.status == 200)
    }

    // A client that has gone is noticed by a comment that cannot be sent.
    @Test(.eventSite(limits: ClientLimits(concurrency: 1), settings: { $0.streamTimes.heartbeat = .milliseconds(100) }))
    func `those who wait have a limit of their own`() async throws {
        try await Self.streams(site, WaitingReaders.Limits.perClient) {
            #expect(try await site.get().status == 200)
            let refused = try await site.get("?wait=1")
            #expect(refused.status == 429 && refused.raw?.body.contains(#"["waiting_readers"]"#) == true)
            #expect(try await site.get("?wait=1", as: "news").status == 200)
            let stream = try await site.get("", ["Accept: text/event-stream"])
            #expect(stream.status == 429 && stream.code == "quota_exceeded")
        }
        try await eventually("the slots are free again") { try await site.get("?wait=1").status == 200 }
    }

    /// Runs `body` beside nested streams: these last longer than the longest wait.
    private static func streams(_ site: EventSite, _ count: Int, _ body: () async throws -> Void) async throws {
        guard count > 0 else { return try await body() }
        try await site.stream { stream in
            #expect(try await stream.text(upTo: "\n\n").contains("retry: "))
            try await streams(site, count - 1, body)
        }
    }

    @Test func `the readers of a node have a limit together`() throws {
        let readers = WaitingReaders()
        var slots: [WaitingReader] = []
        for number in 0..<WaitingReaders.Limits.total {
            slots.append(try readers.acquire("client \(number / WaitingReaders.Limits.perClient)"))
        }
        #expect(throws: Problem.tooManyReaders) { try readers.acquire("another") }
        #expect(throws: Problem.tooManyReadersOfClient) { try readers.acquire("client 0") }
        slots.removeLast()
        #expect(throws: Never.self) { slots.append(try readers.acquire("another")) }
        #expect(throws: Problem.tooManyReaders) { try readers.acquire("another") }
        slots.removeAll()
        #expect(readers.total == 0)
    }

    @Test func `a shutdown answers those who wait, and ends the streams`() async throws {
        // The grace period of these gateways is an hour: waiting for a reader would take that long.
        try await RunningGateway.with({ $0.notifications.allowsVolatile = true }) { gateway in
            let target = "GET /v1/events?bundle_id=com.example.shop"
            try await RawConnection.with(port: gateway.port) { stream in
                try await stream.send("\(target) HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
                _ = try await stream.text(upTo: "\n\n")
                try await RawConnection.with(port: gateway.port) { page in
                    try await page.send("\(target)&wait=60 HTTP/1.1\r\nHost: x\r\n\r\n")
                    let inFlight = "receipt_gateway_http_requests_in_flight 2\n"
                    try await eventually { gateway.server.metrics.text().contains(inFlight) }
                    gateway.order(.interrupt)
                    let answer = EventAnswer(try await page.answer())
                    #expect(answer.status == 200 && answer.ids == [] && answer.raw?.headers["connection"] == "close")
                }
                #expect(try await stream.text(upTo: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
                #expect(try await stream.isClosed())
            }
        }
    }

    // MARK: - Streams

    @Test func `a stream has the events there are, and then each new one`() async throws {
        // A client that has gone is noticed by a comment that cannot be sent.
        try await EventSite.with(settings: { $0.streamTimes.heartbeat = .milliseconds(100) }) { site in
            site.add(1)
            try await site.stream("?types=subscription.*") { stream in
                let head = try await stream.text(upTo: "\r\n\r\n").lowercased()
                #expect(head.contains("200 ok") && head.contains("content-type: text/event-stream"))
                #expect(head.contains("cache-control: no-store") && head.contains("x-accel-buffering: no"))
                #expect(try await stream.text(upTo: "\n\n").contains("retry: 2000\nid: AQ\n"))
                let first = try await stream.event()
                #expect(first.type == "subscription.renewed")
                #expect(first.data == #"{"id":"evt_1","type":"subscription.renewed"}"#)
                try await eventually { site.watcher.count == 1 }
                site.add(2)
                #expect(try await stream.event().data?.contains("evt_2") == true)
                site.add(3, announces: false)
                #expect(try await stream.event().data?.contains("evt_3") == true)
            }
            try await eventually { site.watcher.count == 0 }
        }
    }

    @Test(.eventSite) func `a stream continues after the last event that the client has`() async throws {
        for number in 1...5 { site.add(number, chain: number % 2) }
        var last = ""
        try await site.stream { stream in
            for number in 1...3 {
                let event = try await stream.event()
                #expect(event.data?.contains("evt_\(number)") == true)
                last = event.id ?? ""
            }
        }
        // The header goes before the query, which the client sends again when it reconnects.
        try await site.stream("?after=latest", ["Last-Event-ID: \(last)"]) { stream in
            for number in 4...5 {
                let event = try await stream.event()
                #expect(event.data?.contains("evt_\(number)") == true)
            }
        }
        // Pages and streams have the same cursors.
        #expect(try await site.get("?after=\(last)").ids == ["evt_4", "evt_5"])
    }

    @Test(.eventSite, arguments: [["Last-Event-ID: garbage"], ["Last-Event-ID: AQ", "Last-Event-ID: AQ"]])
    func `an ID that is no cursor is a problem`(fields: [String]) async throws {
        let answer = try await site.get("", ["Accept: text/event-stream"] + fields)
        #expect(answer.status == 400 && answer.code == "invalid_cursor")
        #expect(try await site.get("", fields).status == 200, "pages do not read the field")
    }

    @Test(.eventSite, arguments: ["?limit=1", "?wait=1"])
    func `a stream has neither limit nor wait`(query: String) async throws {
        let answer = try await site.get(query, ["Accept: text/event-stream"])
        #expect(answer.code == "invalid_query")
    }

    @Test(arguments: [
        ("text/event-stream", true), ("application/json, Text/Event-Stream ;q=0.5", true), ("*/*", false),
        ("application/json", false), ("text/event-streams", false),
    ])
    func `the media type decides`(accept: String, isStream: Bool) throws {
        let header = try RequestContext.forTests(["Accept": accept], .GET, "/v1/events?bundle_id=a").header
        #expect(try EventsCall(header, of: .loopback, keepsSignedData: false).isStream == isStream)
    }

    @Test(.eventSite(maximumCount: AppPartition.count))
    func `a reader that fell behind gets an event that says so, once`() async throws {
        site.add(1, chain: 1)
        let cursor = try await site.get().next
        for number in 2...4 { site.add(number, chain: 1) }
        var told = ""
        try await site.stream("?after=\(cursor)") { stream in
            let missed = try await stream.event()
            #expect(missed.type == "missed" && missed.data == #"{"bundle_id":"com.example.shop","count":2}"#)
            told = missed.id ?? ""
            #expect(try await stream.event().data?.contains("evt_4") == true)
        }
        try await site.stream("", ["Last-Event-ID: \(told)"]) { stream in
            let next = try await stream.event()
            #expect(next.data?.contains("evt_4") == true)
        }
    }

    @Test(.eventSite(settings: { $0.streamTimes.heartbeat = .milliseconds(20) }))
    func `a silent stream sends comments, with the cursor once events of other types moved it`() async throws {
        try await site.stream("?types=purchase.*") { stream in
            _ = try await stream.text(upTo: "id: AQ\n\n")
            #expect(try await stream.text(upTo: "\n\n").contains(":\n\n"))
            site.add(1)
            var id: String?
            while id == nil {
                let event = StreamedEvent(try await stream.text(upTo: "\n\n"))
                #expect(event.data == nil)
                id = event.id
            }
            #expect(try await site.get("?after=\(id ?? "")").ids == [])
        }
    }

    @Test func `a stream ends at its age, and when the clients change`() async throws {
        try await EventSite.with(settings: { $0.streamTimes.maximumAge = .milliseconds(50) }) { site in
            try await site.stream { stream in
                let text = try await stream.text(upTo: "\r\n0\r\n\r\n")
                #expect(text.hasSuffix("\r\n0\r\n\r\n"))
            }
        }
        try await EventSite.with { site in
            try await site.stream { stream in
                _ = try await stream.text(upTo: "\n\n")
                try await eventually { site.watcher.count == 1 }
                site.access.replace(with: Access(AccessRules(clients: [])))
                site.add(1)
                let rest = try await stream.text(upTo: "\r\n0\r\n\r\n")
                #expect(rest.hasSuffix("\r\n0\r\n\r\n") && !rest.contains("evt_1"))
            }
        }
    }

    @Test(arguments: [true, false])
    func `a request whose key is removed before it ends gets no events`(isKept: Bool) async throws {
        try await EventSite.with { site in
            site.add(1)
            let client = try #require(site.access.now.client(named: "shop"))
            let changed = Client(name: client.name, apps: client.apps, keys: isKept ? client.keys : [], may: [.purge])
            try await RawConnection.with(port: site.port) { connection in
                let fields = ["Transfer-Encoding: chunked", "Expect: 100-continue"]
                try await connection.send(site.request(as: "shop", fields))
                // The header is read, and the client known.
                _ = try await connection.text(upTo: "100 Continue\r\n\r\n")
                site.access.replace(with: Access(AccessRules(clients: [changed])))
                try await connection.send("0\r\n\r\n")
                let answer = try #require(try await connection.answer())
                #expect(answer.status == (isKept ? 200 : 401) && answer.body.contains("evt_1") == isKept)
            }
        }
    }

    @Test func `a stream reads the log only for the part that the client takes next`() async throws {
        let log = EmbeddedEventLog(EventRetention(maximumCount: 100_000, maximumAge: .seconds(60))) { .now() }
        for number in 0..<1000 {
            let event = Event(
                id: "evt_\(number)", type: .purchaseCompleted, bundleID: EventSite.app, environment: .production,
                originalTransactionID: "1", occurredAt: .now(), json: Array("{}".utf8))
            log.append(event, to: .events, of: event.partition)
        }
        let counted = CountedReads(log), watcher = EventWatcher(log)
        let request = EventReadRequest(
            [EventSite.app], after: EventCursor(), maximumCount: EventFeed.Limits.pageCount)
        let feed = EventFeed(
            request, reader: EventReader(counted), watcher: watcher, times: EventStreamTimes(), slot: nil,
            isPermitted: { true })
        let parts = AsyncStream { await feed.next() }
        #expect(counted.events == 0)
        var number = 0
        for await part in parts {
            number += 1
            #expect(String(buffer: part).matches(of: #/data: /#).count == EventFeed.Limits.pageCount)
            #expect(counted.events <= number * (EventFeed.Limits.pageCount + AppPartition.count))
            if number == 10 { watcher.stop() }
        }
        #expect(number == 10)
    }

    /// A log that counts the events it has given.
    private final class CountedReads: EventLog {
        private let log: EmbeddedEventLog
        private let count = Mutex(0)

        init(_ log: EmbeddedEventLog) { self.log = log }

        var events: Int { count.withLock { $0 } }

        func read(_ queries: [EventQuery]) -> [EventBatch]? {
            let batches = log.read(queries)
            count.withLock { $0 += (batches ?? []).reduce(0) { $0 + $1.events.count } }
            return batches
        }

        func newest(_ partitions: [AppPartition], _ stream: EventStream) -> [EventPosition]? {
            log.newest(partitions, stream)
        }

        func event(at position: EventPosition, in partition: AppPartition, _ stream: EventStream) -> Event? { nil }

        func position(
            before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
        ) -> EventPosition { .start }
    }
}
