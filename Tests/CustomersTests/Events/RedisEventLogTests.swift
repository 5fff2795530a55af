// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import RealServers
import Receipts
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// Events in real Redis servers: what only they have.
@Suite(.timeLimit(.patient)) struct RedisEventLogTests {
    typealias Samples = StoredEventSamples
    private var stage: NotificationStage { .current }

    private static let partition = Samples.partition

    private static func read(
        _ log: RedisEventLog, after: EventPosition = .start, maximum: Int = 100, _ stream: EventStream = .events
    ) async throws -> EventBatch {
        let query = EventQuery(partition, stream, after: after, maximum: maximum)
        return try #require(await log.read([query])?.first)
    }

    private static var logKey: String { NotificationKeys(partition).events.text }

    // MARK: Stored form

    @Test func `an event is the same after storing, and part of one is none`() throws {
        for event in [Samples.event(1), Samples.event(2, padding: 70_000)] {
            let bytes = event.storedBytes
            #expect(try Event(storedBytes: bytes, bundleID: Samples.bundleID) == event)
            for count in 0..<min(bytes.count, 200) {
                #expect(throws: StoredFormFault.malformed) {
                    try Event(storedBytes: Array(bytes.prefix(count)), bundleID: Samples.bundleID)
                }
            }
            #expect(throws: StoredFormFault.malformed) {
                try Event(storedBytes: bytes + [0], bundleID: Samples.bundleID)
            }
        }
    }

    @Test func `an event about no purchase has no original transaction after storing either`() throws {
        var event = Samples.event(1)
        event.originalTransactionID = nil
        event.signedData = []
        event.environment = .production
        #expect(try Event(storedBytes: event.storedBytes, bundleID: Samples.bundleID) == event)
    }

    // MARK: Reading

    @Test(.redis) func `a page is bounded in bytes, and has at least one event`() async throws {
        let log = stage.eventLog()
        for number in 1...3 { try await stage.append(Samples.event(number, padding: 400_000)) }
        try await stage.append(Samples.event(4, padding: 2_000_000))
        var counts: [Int] = [], after = EventPosition.start
        while case let batch = try await Self.read(log, after: after), !batch.events.isEmpty {
            counts.append(batch.events.count)
            after = batch.last
        }
        #expect(counts == [2, 1, 1])
    }

    // MARK: Retention

    @Test(.redis) func `events of more than the maximum age are removed`() async throws {
        try stage.server.ask("XADD", Self.logKey, "1-0", "i", "1", "e", "old")
        try await stage.append(Samples.event(1))
        #expect(try stage.server.ask("XLEN", Self.logKey) == "1")
    }

    // MARK: Loss

    @Test(.redis) func `a Redis that lost the log is noticed once, and read from its beginning`() async throws {
        let log = stage.eventLog()
        for number in 1...3 { try await stage.append(Samples.event(number)) }
        let before = try await Self.read(log)
        try stage.server.ask("FLUSHALL")
        let empty = try await Self.read(log, after: before.last)
        #expect(empty == EventBatch(events: [], last: .start, missed: MissedEvents(count: nil)))
        #expect(try await Self.read(log, after: empty.last) == EventBatch(events: [], last: .start))
        try await stage.append(Samples.event(4))
        let after = try await Self.read(log, after: before.last)
        #expect(after.events.map(\.event) == [Samples.event(4)] && after.missed == MissedEvents(count: nil))
        #expect(try await Self.read(log, after: after.last) == EventBatch(events: [], last: after.last))
    }

    @Test(.redis) func `a Redis that lost the end of the log is noticed, also behind newer events`() async throws {
        let log = stage.eventLog(), names = NotificationKeys(Self.partition)
        for number in 1...3 { try await stage.append(Samples.event(number)) }
        let before = try await Self.read(log)
        // As after a failover to a replica without the last two.
        for event in before.events.suffix(2) { try stage.server.ask("XDEL", Self.logKey, event.position.id) }
        let kept = before.events[0].position
        try stage.server.ask("HSET", names.totals.text, "events", "1", "events:last", kept.text)
        let lost = try await Self.read(log, after: before.last)
        #expect(lost.missed == MissedEvents(count: nil) && lost.last == kept)
        try await stage.append(Samples.event(4))
        let again = try await Self.read(log, after: before.last)
        #expect(again.missed == MissedEvents(count: nil))
        #expect(again.events.map(\.event) == [Samples.event(1), Samples.event(4)])
        #expect(try await Self.read(log, after: again.last).missed == nil)
    }

    /// Replaces the log by another with these numbers and times, as a failover does.
    private func replaceLog(by entries: [(number: Int, milliseconds: Int64)]) async throws {
        let shared = SharedCustomers(.redis), totals = NotificationKeys(Self.partition).totals.text
        try stage.server.ask("DEL", Self.logKey)
        for (number, milliseconds) in entries {
            try await shared.append(Samples.event(number), number: number, at: milliseconds)
            try stage.server.ask("HSET", totals, "events:last", "\(milliseconds)-0-\(number)")
        }
    }

    /// The second case has another event with the ID of the newest event that was read.
    @Test(.redis, arguments: [[5000, 5250, 5500], [5200, 5250, 5300]] as [[Int64]])
    func `events beside which a lost primary numbered others are read, and told once`(times: [Int64]) async throws {
        let log = stage.eventLog()
        try await replaceLog(by: [(1, 1000), (2, 2000), (3, 5200), (4, 5300)])
        let before = try await Self.read(log)
        // The replica became primary after the second event, before the nodes left the old primary.
        try await replaceLog(by: [(1, 1000), (2, 2000)] + zip(3...5, times))
        let after = try await Self.read(log, after: before.last)
        #expect(after.missed == MissedEvents(count: nil) && after.events.map(\.position.number) == [1, 2, 3, 4, 5])
        #expect(try await Self.read(log, after: after.last) == EventBatch(events: [], last: after.last))
        // A reader that took none of them yet stands before the first.
        let again = try await Self.read(log, after: .end(of: 999, number: 0))
        #expect(again.missed == nil && again.events == after.events)
    }

    @Test(.redis)
    func `a position stands if its event was deleted with a customer's data, or is too old`() async throws {
        let log = stage.eventLog(), erased = NotificationKeys(Self.partition).erased(.events).text
        let entries: [(number: Int, milliseconds: Int64)] = [(1, 1000), (2, 2000), (3, 3000), (4, 4000)]
        try await replaceLog(by: entries)
        let second = EventPosition(milliseconds: 2000, counter: 0, number: 2)
        for standing in [second, .end(of: 2000, number: 2), .end(of: 1999, number: 1)] {
            #expect(try await Self.read(log, after: standing).missed == nil)
        }
        try stage.server.ask("XDEL", Self.logKey, second.id)
        #expect(try await Self.read(log, after: second).missed == MissedEvents(count: nil))
        try stage.server.ask("ZADD", erased, "2", "2")
        #expect(try await Self.read(log, after: second).missed == nil)
        try await replaceLog(by: Array(entries.suffix(1)))
        try stage.server.ask("DEL", erased)
        let old = try await Self.read(log, after: second)
        #expect(old.missed == MissedEvents(count: 1) && old.events.map(\.position.number) == [4])
    }

    @Test(.redis) func `the numbers of erased events are kept as long as the log has an earlier event`() async throws {
        let names = NotificationKeys(Self.partition), second = EventPosition(milliseconds: 2000, counter: 0, number: 2)
        try await replaceLog(by: (1...6).map { ($0, Int64($0) * 1000) })
        let erased: [RedisWord] = ["2000-0", 2, "3000-0", 3]
        // Four events are left, as many as the maximum, and the newest has the number 6.
        try await stage.redis.count(
            ErasureScripts.entries, keys: [names.totals, names.events, names.erased(.events)], "events:last", 4, erased)
        let batch = try await Self.read(stage.eventLog(), after: second)
        #expect(batch.missed == nil && batch.events.map(\.position.number) == [4, 5, 6])
    }

    @Test(.redis) func `a newest event that is gone without a trace is no loss of later ones`() async throws {
        try await replaceLog(by: [(1, 1000), (2, 2000)])
        let last = EventPosition(milliseconds: 2000, counter: 0, number: 2)
        try stage.server.ask("XDEL", Self.logKey, last.id)
        #expect(try await Self.read(stage.eventLog(), after: last) == EventBatch(events: [], last: last))
    }

    @Test(.redis)
    func `a loss is told once, also if an entry that cannot be read stands before the first`() async throws {
        let totals = NotificationKeys(Self.partition).totals.text, log = stage.eventLog()
        try stage.server.ask("XADD", Self.logKey, "5000-0", "i", "2", "e", "garbage")
        try await SharedCustomers(.redis).append(Samples.event(3), number: 3, at: 5000, counter: 1)
        try stage.server.ask("HSET", totals, "events:last", "5000-1-3")
        var request = EventReadRequest([Samples.bundleID], after: EventCursor(), maximumCount: 10)
        request.cursor[Self.partition] = EventPosition(milliseconds: 3000, counter: 0, number: 3)
        let page = try #require(await EventReader(log).page(request))
        #expect(page.missed == [Samples.bundleID: MissedEvents(count: nil)] && page.entries.count == 1)
        // A reader that took no event yet.
        let again = try await Self.read(log, after: page.start[Self.partition])
        #expect(again.missed == nil && again.events.map(\.event) == [Samples.event(3)])
    }

    @Test(
        arguments: [("9007199254740993-5", 2), ("1-9007199254740993", 2), ("1-1", 9_007_199_254_740_993)]
            as [(String, UInt64)])
    func `a position that no cursor holds is none`(id: String, number: UInt64) {
        #expect(EventPosition(id: id, number: number) == nil)
        #expect(EventPosition(id: "9007199254740992-9007199254740992", number: 9_007_199_254_740_992) != nil)
    }

    // MARK: Encryption

    @Test(.redis) func `an entry that cannot be read is passed over and counted`() async throws {
        let faults = FaultLog(), log = stage.eventLog(observe: faults.add)
        try await stage.append(Samples.event(1))
        try stage.server.ask("XADD", Self.logKey, "*", "i", "2", "e", "garbage")
        try stage.server.ask("XADD", Self.logKey, "*", "other", "field")
        try await stage.append(Samples.event(4))
        let batch = try await Self.read(log)
        #expect(batch.events.map(\.event) == [Samples.event(1), Samples.event(4)])
        #expect(batch.unreadable == 2 && batch.last == batch.events.last?.position)
        #expect(faults.all == [.sealMalformed, .sealMalformed])
        let first = try await Self.read(log, maximum: 2)
        #expect(first.events.count == 1 && first.unreadable == 1 && first.last.number == 2)
    }

    @Test(.redis) func `an event of another partition counts as unreadable`() async throws {
        let names = NotificationKeys(AppPartition(bundleID: Samples.bundleID, number: 0))
        let sealed = Samples.event(1).sealed(names, StoreSeal(keys: StoreSamples.keys()))
        let key = NotificationKeys(AppPartition(bundleID: Samples.bundleID, number: 1)).events
        _ = try await stage.redis.send(RedisCommand("XADD", key: key, "*", "i", 1, "e", sealed))
        let query = EventQuery(
            AppPartition(bundleID: Samples.bundleID, number: 1), after: .start, maximum: 1)
        let batch = try #require(await stage.eventLog().read([query])?.first)
        #expect(batch.events.isEmpty && batch.unreadable == 1)
    }

    @Test(.redis) func `events are readable as long as their key is there`() async throws {
        let first = StoreSamples.firstKey, second = StoreSamples.secondKey
        try await stage.append(Samples.event(1), keys: first)
        try await stage.append(Samples.event(2), keys: "\(second),\(first)")
        let during = try await Self.read(stage.eventLog(keys: "\(second),\(first)"))
        #expect(during.events.map(\.event) == [Samples.event(1), Samples.event(2)])
        let after = try await Self.read(stage.eventLog(keys: second))
        #expect(after.events.map(\.event) == [Samples.event(2)] && after.unreadable == 1)
    }

    // MARK: Relay

    /// Relays notifications of a thousand bytes, about.
    private static func relay(
        _ numbers: ClosedRange<Int>, at stage: NotificationStage, _ retention: EventRetention
    ) async throws {
        for number in numbers {
            let body = "\(number) " + String(repeating: "x", count: 950)
            try await stage.relay(NotificationSamples.record(body), retention: retention)
        }
    }

    private static func relayed(at stage: NotificationStage) async throws -> [UInt64] {
        try await read(stage.eventLog(), .relay).events.map(\.position.number)
    }

    @Test(.redis) func `relayed notifications are bounded in bytes, beside number and age`() async throws {
        let partitions = AppPartition.count, age = Duration.seconds(86_400)
        var retention = EventRetention(maximumCount: 1000, maximumAge: age, maximumRelayBytes: 5500 * partitions)
        try await Self.relay(1...9, at: stage, retention)
        #expect(try await Self.relayed(at: stage) == [5, 6, 7, 8, 9])
        // A large one makes room for itself, and is kept even if it alone is too large.
        let large = NotificationSamples.record(String(repeating: "x", count: 4000))
        try await stage.relay(large, retention: retention)
        #expect(try await Self.relayed(at: stage) == [9, 10])
        try await stage.relay(
            NotificationSamples.record(String(repeating: "x", count: 9000)), retention: retention)
        #expect(try await Self.relayed(at: stage) == [11])
        // Those that end by their number leave room.
        retention.maximumCount = 3 * partitions
        try await Self.relay(12...19, at: stage, retention)
        #expect(try await Self.relayed(at: stage) == [17, 18, 19])
        retention.maximumCount = 1000
        try await Self.relay(20...21, at: stage, retention)
        #expect(try await Self.relayed(at: stage) == [17, 18, 19, 20, 21])
    }

    @Test(.redis) func `what another writer stored of the bytes stops no relay`() async throws {
        let retention = EventRetention(
            maximumCount: 1000, maximumAge: .seconds(86_400), maximumRelayBytes: 3500 * AppPartition.count)
        let totals = NotificationKeys(Self.partition).totals.text
        let log = NotificationKeys(Self.partition).relay.text
        for id in ["1-1", "1-2"] { try stage.server.ask("XADD", log, id, "x", "y") }
        for (index, value) in ["9223372036854775807", "-5", "nan", "inf", "x"].enumerated() {
            for field in ["relay:bytes", "relay:before"] {
                try stage.server.ask("HSET", totals, field, value)
                try await Self.relay(1...5, at: stage, retention)
                let numbers = try await Self.relayed(at: stage)
                #expect(numbers.last == UInt64(10 * index + (field == "relay:bytes" ? 5 : 10)), "\(field) \(value)")
                #expect(numbers.count <= 8, "\(field) \(value)")
            }
        }
    }

    @Test(.redis) func `a relayed notification is the body that Apple posted`() async throws {
        let bodies = [#"{"signedPayload": "e30.e30.c2ln"}"#, #"{"notification_type":"DID_RENEW"}"#]
        try await stage.relay(NotificationSamples.record(bodies[0]))
        try await stage.relay(NotificationRecord(.v1, Array(bodies[1].utf8), receivedAt: StoreSamples.time(0)))
        let events = try await Self.read(stage.eventLog(), .relay).events.map(\.event)
        #expect(events.map { String(decoding: $0.json, as: UTF8.self) } == bodies)
        #expect(events.allSatisfy { $0.type == .unknown && $0.bundleID == Samples.bundleID })
        #expect(events[0].id != events[1].id)
        #expect(await stage.eventLog().newest([Self.partition], .relay)?[0].number == 2)
        #expect(await stage.eventLog().newest([Self.partition], .events) == [.start])
        #expect(try await Self.read(stage.eventLog()).events.isEmpty)
    }
}
