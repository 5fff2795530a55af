// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers

@Suite("Reading events of several partitions")
struct EventReaderTests {
    private static let app = NumberedEvents.app
    private static let otherApp = NumberedEvents.otherApp

    /// Reads page by page, until there are no more.
    private static func pages(
        _ log: any EventLog, apps: [String] = [app], after cursor: EventCursor = EventCursor(),
        types: Set<EventType>? = nil, size: Int = 100
    ) async throws -> [MergedEventPage] {
        var request = EventReadRequest(apps, after: cursor, types: types, maximumCount: size)
        var pages: [MergedEventPage] = []
        repeat {
            pages.append(try #require(await EventReader(log).page(request)))
            // Through the text, as a client does.
            request.cursor = try #require(pages.last.flatMap { EventCursor(text: $0.next.text) })
        } while pages.last?.hasMore == true && pages.count < 100_000
        return pages
    }

    private static func ids(_ pages: [MergedEventPage]) -> [String] { pages.flatMap(\.entries).map(\.event.id) }

    // MARK: - Order

    @Test(arguments: [1, 2, 7, 100, 256, 1000])
    func `pages of any size have every event once, by the time of writing`(size: Int) async throws {
        let events = NumberedEvents()
        var expected: [String] = []
        for number in 0..<600 {
            // One chain has most of the events, so that one partition is much longer than the others.
            let chain = number.isMultiple(of: 3) ? number : 1
            let app = number.isMultiple(of: 5) ? Self.otherApp : Self.app
            expected.append(events.add(number, chain: chain, app: app).id)
        }
        let pages = try await Self.pages(events.log, apps: [Self.app, Self.otherApp], size: size)
        #expect(Self.ids(pages) == expected)
        #expect(pages.allSatisfy { $0.entries.count <= size && $0.missed.isEmpty })
        #expect(pages.dropLast().allSatisfy { !$0.entries.isEmpty })
    }

    @Test func `a page has the events of its apps only`() async throws {
        let events = NumberedEvents()
        let own = events.add(1)
        events.add(2, app: Self.otherApp)
        #expect(Self.ids(try await Self.pages(events.log)) == [own.id])
    }

    @Test func `a round trip asks for few events, however large the page and however many the apps`() async throws {
        let events = NumberedEvents()
        for number in 0..<2000 { events.add(number) }
        let log = CountingLog(events.log)
        let apps = [Self.app] + (1..<16).map { "com.example.app\($0)" }
        let pages = try await Self.pages(log, apps: apps, size: 1000)
        #expect(Self.ids(pages).count == 2000)
        #expect(log.counts.mostWanted <= EventReader.Limits.eventsPerRead + 16 * AppPartition.count)
    }

    @Test func `a reader that has everything gets an empty page with the same cursor`() async throws {
        let events = NumberedEvents()
        events.add(1)
        let last = try #require(try await Self.pages(events.log).last)
        let page = try #require(try await Self.pages(events.log, after: last.next).first)
        #expect(page.isEmpty && !page.hasMore && page.next == last.next && page.start == last.next)
        let next = events.add(2)
        #expect(Self.ids(try await Self.pages(events.log, after: page.next)) == [next.id])
    }

    @Test func `latest is behind all events that were written, and before all others`() async throws {
        let events = NumberedEvents()
        for number in 0..<50 { events.add(number) }
        let latest = try #require(await EventReader(events.log).latest(of: [Self.app, Self.otherApp]))
        let later = [events.add(50), events.add(51, app: Self.otherApp)].map(\.id)
        #expect(Self.ids(try await Self.pages(events.log, apps: [Self.app, Self.otherApp], after: latest)) == later)
    }

    // MARK: - Types and sizes

    @Test func `the cursor moves past events of other types`() async throws {
        let events = NumberedEvents()
        var expected: [String] = []
        for number in 0..<300 {
            let isMeant = number.isMultiple(of: 100)
            let event = events.add(number, type: isMeant ? .purchaseRefunded : .subscriptionRenewed)
            if isMeant { expected.append(event.id) }
        }
        let pages = try await Self.pages(events.log, types: [.purchaseRefunded, .purchaseCompleted], size: 10)
        #expect(Self.ids(pages) == expected)
        let rest = try await Self.pages(events.log, after: try #require(pages.last).next)
        #expect(Self.ids(rest).isEmpty, "nothing is read twice")
    }

    @Test func `a page reads a bounded part of the log, also if no event is meant`() async throws {
        let events = NumberedEvents()
        for number in 0..<10_000 { events.add(number, chain: 1) }
        let log = CountingLog(events.log)
        let request = EventReadRequest(
            [Self.app], after: EventCursor(), types: [.fraudSuspected], maximumCount: 1)
        let page = try #require(await EventReader(log).page(request))
        #expect(page.isEmpty && page.hasMore && page.next != request.cursor)
        #expect(log.counts.reads == EventReader.Limits.reads)
    }

    @Test func `a page is bounded in bytes, and a larger event is one of its own`() async throws {
        let events = NumberedEvents()
        for (number, bytes) in [400_000, 400_000, 400_000, 3_000_000, 10].enumerated() {
            events.add(number, bytes: bytes)
        }
        let pages = try await Self.pages(events.log)
        #expect(pages.map { $0.entries.map(\.event.id) } == [["evt_0", "evt_1"], ["evt_2"], ["evt_3"], ["evt_4"]])
    }

    @Test func `signed data counts if it is sent`() async throws {
        let events = NumberedEvents()
        for number in 0..<4 {
            var event = events.add(number)
            event.id += "_signed"
            event.signedData = Array(repeating: UInt8(ascii: " "), count: 600_000)
            events.log.append(event, to: .events, of: event.partition)
        }
        func count(_ includesSignedData: Bool) async throws -> Int {
            let request = EventReadRequest(
                [Self.app], after: EventCursor(), maximumCount: 100, includesSignedData: includesSignedData)
            return try #require(await EventReader(events.log).page(request)).entries.count
        }
        #expect(try await count(false) == 8)
        #expect(try await count(true) == 3)
    }

    // MARK: - Missed events

    @Test func `a reader that fell behind is told once what it missed`() async throws {
        let events = NumberedEvents(maximumCount: 10 * AppPartition.count)
        events.add(0, chain: 1)
        let cursor = try #require(try await Self.pages(events.log).last).next
        for number in 1...100 { events.add(number, chain: 1) }
        let pages = try await Self.pages(events.log, after: cursor, size: 4)
        #expect(pages.map(\.missed) == [[Self.app: MissedEvents(count: 90)], [:], [:]])
        #expect(Self.ids(pages) == (91...100).map { "evt_\($0)" })
    }

    @Test func `what was missed is told once, although the page has no event of that partition`() async throws {
        let events = NumberedEvents(maximumCount: 10 * AppPartition.count)
        let partitions = Dictionary(grouping: 1...100) { AppPartition(bundleID: Self.app, of: String($0)).number }
        let chains = partitions.values.compactMap(\.first)
        for chain in chains { events.add(chain, chain: chain) }
        let cursor = try #require(try await Self.pages(events.log).last).next
        for number in 0..<20 { for chain in chains { events.add(1000 + number, chain: chain) } }
        let pages = try await Self.pages(events.log, after: cursor, size: 1)
        let count = UInt64(chains.count)
        #expect(pages.first?.missed == [Self.app: MissedEvents(count: 10 * count)])
        #expect(pages.dropFirst().allSatisfy { $0.missed.isEmpty })
        #expect(Self.ids(pages).count == 10 * chains.count)
    }

    @Test func `events that became too old are told`() async throws {
        let events = NumberedEvents(maximumAge: .seconds(10))
        events.add(0, chain: 1)
        let cursor = try #require(try await Self.pages(events.log).last).next
        events.add(1, chain: 1)
        events.pass(60_000)
        events.add(2, chain: 1)
        let pages = try await Self.pages(events.log, after: cursor)
        #expect(pages.map(\.missed) == [[Self.app: MissedEvents(count: 1)]])
        #expect(Self.ids(pages) == ["evt_2"])
    }

    @Test func `a store that lost the log has no count, and its events follow`() async throws {
        let events = NumberedEvents()
        let event = events.add(7, chain: 1)
        let log = LostLog(event)
        var request = EventReadRequest([Self.app], after: EventCursor(), maximumCount: 10)
        request.cursor[event.partition] = EventPosition(milliseconds: 9, counter: 0, number: 90)
        let page = try #require(await EventReader(log).page(request))
        #expect(page.missed == [Self.app: MissedEvents(count: nil)])
        #expect(page.entries.map(\.event.id) == [event.id] && page.next[event.partition] == LostLog.position)
        // A reader that stops after the report has not read the event.
        #expect(page.start[event.partition] < LostLog.position)
    }

    /// A log that began again, with a clock that is behind.
    private struct LostLog: EventLog {
        static let position = EventPosition(milliseconds: 5, counter: 0, number: 1)
        let event: Event

        init(_ event: Event) { self.event = event }

        func read(_ queries: [EventQuery]) -> [EventBatch]? {
            queries.map { query in
                guard query.partition == event.partition, query.after.number > 1 else {
                    return EventBatch(events: [], last: query.after)
                }
                return EventBatch(
                    events: [LoggedEvent(event, at: Self.position)], last: Self.position,
                    missed: MissedEvents(count: nil))
            }
        }

        func newest(_ partitions: [AppPartition], _ stream: EventStream) -> [EventPosition]? { nil }
        func event(at position: EventPosition, in partition: AppPartition, _ stream: EventStream) -> Event? { nil }
        func position(
            before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
        ) -> EventPosition { .start }
    }

    @Test func `a cursor of the future, which only a hostile client has, reads nothing and misses nothing`()
        async throws
    {
        let events = NumberedEvents()
        events.add(0, chain: 1)
        var cursor = EventCursor()
        let limit = EventPosition.Limits.number
        for partition in AppPartition.all(of: Self.app) {
            cursor[partition] = EventPosition(milliseconds: limit, counter: limit, number: limit)
        }
        let pages = try await Self.pages(events.log, after: cursor)
        #expect(pages.count == 1 && pages[0].isEmpty && pages[0].next == cursor)
    }

    // MARK: - Outages

    @Test func `without the store there is no page`() async {
        let log = CountingLog(NumberedEvents().log, readsUntilOutage: 0)
        let request = EventReadRequest([Self.app], after: EventCursor(), maximumCount: 1)
        #expect(await EventReader(log).page(request) == nil)
        #expect(await EventReader(log).latest(of: [Self.app]) == nil)
    }

    @Test func `what was read before an outage is a page`() async throws {
        let events = NumberedEvents()
        for number in 0..<600 { events.add(number, chain: 1) }
        let log = CountingLog(events.log, readsUntilOutage: 1)
        let request = EventReadRequest([Self.app], after: EventCursor(), maximumCount: 1000)
        let page = try #require(await EventReader(log).page(request))
        #expect(!page.entries.isEmpty && page.hasMore)
        let rest = try await Self.pages(events.log, after: page.next)
        #expect(page.entries.count + Self.ids(rest).count == 600)
    }
}

@Suite("Patterns of event types")
struct EventTypePatternTests {
    @Test func `a pattern is a type, or all of a kind`() {
        #expect(EventType.matching("purchase.completed") == [.purchaseCompleted])
        #expect(EventType.matching("purchase.*") == [.purchaseCompleted, .purchaseRefunded, .purchaseRefundReversed])
        #expect(EventType.matching("subscription.*").count == EventType.allCases.count { $0.rawValue.hasPrefix("sub") })
    }

    @Test(arguments: ["", "*", ".*", "purchase", "purchase*", "purchase.", "Purchase.*", "purchase.**", "nothing.*"])
    func `any other text names no type`(text: String) {
        #expect(EventType.matching(text).isEmpty)
    }
}
