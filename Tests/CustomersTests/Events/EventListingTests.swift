// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

@testable import Server

/// `events list` and `events show`.
struct EventListingTests {
    private static func listing(
        _ stage: EventCommandStage, since time: Timestamp = EventCommandStage.start, types: Set<EventType>? = nil,
        maximum: Int = 1000
    ) async throws -> EventListing {
        let reader = try await EventScan(
            stage.log, EventCommandStage.partitions, since: UInt64(time.millisecondsSince1970))
        return EventListing(reader, types: types, maximum: maximum)
    }

    // MARK: - Reading

    @Test func `the events of all partitions come in the order of their writing`() async throws {
        let stage = EventCommandStage(), written = stage.write(0..<1000)
        #expect(Set(written.map(\.partition)).count == AppPartition.count)
        var listing = try await Self.listing(stage), shown: [String] = []
        try await listing.run { shown.append($0.event.id) }
        #expect(shown == written.map(\.id))
        #expect(!listing.isFull && listing.remark.isEmpty)
    }

    @Test func `a listing begins at its time`() async throws {
        let stage = EventCommandStage(), written = stage.write(0..<100)
        var listing = try await Self.listing(stage, since: EventCommandStage.start.advanced(by: .seconds(60)))
        var shown: [String] = []
        try await listing.run { shown.append($0.event.id) }
        #expect(shown == written[60...].map(\.id))
    }

    @Test func `the limit counts the chosen types, and the remark says how to go on`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<5)
        let chosen = stage.write(5..<9, .subscriptionExpired)
        var listing = try await Self.listing(stage, types: [.subscriptionExpired], maximum: 3), shown: [String] = []
        try await listing.run { shown.append($0.event.id) }
        #expect(shown == chosen.prefix(3).map(\.id) && listing.isFull)
        #expect(listing.remark.contains("--since \(EventCommandStage.start.advanced(by: .seconds(7)))"))
    }

    @Test func `exactly as many events as the limit are no surplus`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<3)
        var listing = try await Self.listing(stage, maximum: 3), count = 0
        try await listing.run { _ in count += 1 }
        #expect(count == 3 && !listing.isFull && listing.remark.isEmpty)
    }

    @Test func `a time without events has a remark`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<3)
        var listing = try await Self.listing(stage, types: [.fraudSuspected])
        try await listing.run { _ in Issue.record("there is an event") }
        #expect(listing.remark == "There are no such events.\n")
    }

    @Test func `events that are written later follow`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<3)
        var listing = try await Self.listing(stage), shown: [String] = []
        try await listing.run { shown.append($0.event.id) }
        let later = stage.write(3..<5)
        try await listing.run { shown.append($0.event.id) }
        #expect(shown.count == 5 && shown.suffix(2) == later.map(\.id))
    }

    @Test func `a log that does not answer is an error`() async throws {
        var reader = EventScan(SilentLog(), from: EventCommandStage.partitions.map { ($0, .start) })
        await #expect(throws: StoreUnreachable.self) { try await reader.next() }
    }

    @Test func `an event is a line of columns`() throws {
        let position = EventPosition(milliseconds: 1_795_262_400_000, counter: 0, number: 1)
        let event = EventCommandStage.event(1)
        #expect(
            LoggedEvent(event, at: position).line
                == "2026-11-21T12:00:00Z  subscription.renewed  com.example.shop  production  2001  \(event.id)")
    }

    // MARK: - One event

    @Test func `an event is found however old it is`() async throws {
        let stage = EventCommandStage(), old = try #require(stage.write(0..<1).first)
        stage.advance(by: .seconds(20 * 86_400))
        let new = stage.write(1..<50)
        for event in [old] + new {
            let result = try await Self.search(stage).run(event.id, at: stage.now)
            #expect(result == .found(event))
        }
    }

    @Test func `an ID that the log does not have ends the search at its beginning`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<1)
        stage.advance(by: .seconds(5 * 86_400))
        stage.write(1..<10)
        let result = try await Self.search(stage).run("evt_none", at: stage.now)
        #expect(result == .missing(searched: 10), "each event is read once")
        #expect(result.text.contains("gateway.events"))
    }

    @Test func `the number of events that a search reads is limited`() async throws {
        let stage = EventCommandStage(), last = try #require(stage.write(0..<100).last)
        let result = try await Self.search(stage, maximum: 40).run(last.id, at: stage.now.advanced(by: .seconds(3600)))
        guard case .limited(let searched, _) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(searched == 40 && result.text.contains("--bundle-id"))
    }

    private static func search(_ stage: EventCommandStage, maximum: Int = EventSearch.Limits.events) -> EventSearch {
        EventSearch(log: stage.log, partitions: EventCommandStage.partitions, maximum: maximum, report: { _ in })
    }

    @Test func `the progress of a search is shown once in a second`() {
        let start = ContinuousClock.now
        var progress = EventSearch.Progress()
        let logged = LoggedEvent(
            EventCommandStage.event(1), at: EventPosition(milliseconds: 1_795_262_400_000, counter: 0, number: 1))
        #expect(progress.count(logged, at: start) == nil)
        #expect(progress.count(logged, at: start + .seconds(2)) == "2 events read, now at 2026-11-21T12:00:00Z\n")
        #expect(progress.count(logged, at: start + .seconds(2.5)) == nil)
    }

    // MARK: - Arguments

    @Test(
        arguments: [
            ("1h", .ago(.seconds(3600))), ("30m", .ago(.seconds(1800))), ("7d", .ago(.seconds(7 * 86_400))),
            ("2026-11-21T12:00:00Z", .at(EventCommandStage.start)),
        ] as [(String, SinceArgument)])
    func `a beginning is a span or a time`(text: String, since: SinceArgument) throws {
        #expect(try SinceArgument.parse(text) == since)
    }

    @Test(arguments: ["", "yesterday", "1", "-1h", "2026-11-21"])
    func `another beginning is rejected`(text: String) {
        #expect(throws: (any Error).self) { try SinceArgument.parse(text) }
    }

    @Test func `a type may be a prefix`() throws {
        #expect(try EventTypeArgument.parse("subscription.renewed") == [.subscriptionRenewed])
        #expect(
            try EventTypeArgument.parse("purchase.*") == [
                .purchaseCompleted, .purchaseRefunded, .purchaseRefundReversed,
            ])
        for text in ["renewed", "subscription", "", "*", ".*"] {
            #expect(throws: (any Error).self) { try EventTypeArgument.parse(text) }
        }
    }
}

/// A log whose store does not answer.
struct SilentLog: EventLog {
    func read(_ queries: [EventQuery]) -> [EventBatch]? { nil }
    func newest(_ partitions: [AppPartition], _ stream: EventStream) -> [EventPosition]? { nil }
    func event(
        at position: EventPosition, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> Event? { throw StoreUnreachable() }
    func position(
        before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> EventPosition { throw StoreUnreachable() }
}
