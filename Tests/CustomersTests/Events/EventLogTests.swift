// SPDX-License-Identifier: Apache-2.0

import Customers
import RealServers
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// The behaviour of every log of events, in this process and in Redis.
@Suite(.timeLimit(.patient)) struct EventLogTests {
    typealias Samples = StoredEventSamples

    private static func read(
        _ log: any EventLog, after: EventPosition = .start, maximum: Int = 100
    ) async throws -> EventBatch {
        try #require(await log.read([EventQuery(Samples.partition, after: after, maximum: maximum)])?.first)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `events are read in order, in pages`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), log = shared.log, events = (1...5).map { Samples.event($0) }
        for event in events { try await shared.append(event) }
        let first = try await Self.read(log, maximum: 3)
        #expect(first.events.map(\.event) == Array(events[..<3]))
        #expect(first.events.map(\.position.number) == [1, 2, 3])
        #expect(first.last == first.events.last?.position && first.missed == nil && first.hasMore)
        let second = try await Self.read(log, after: first.last)
        #expect(second.events.map(\.event) == Array(events[3...]) && !second.hasMore)
        #expect(await log.newest([Samples.partition], .events) == [second.last])
        let third = try await Self.read(log, after: second.last)
        #expect(third == EventBatch(events: [], last: second.last))
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `an event is found by its position, and a position by its time`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), log = shared.log
        for (number, milliseconds, counter) in [(1, 1000, 0), (2, 2000, 0), (3, 2000, 1)] {
            try await shared.append(Samples.event(number), number: number, at: Int64(milliseconds), counter: counter)
        }
        let position = try await log.position(before: 3000, in: Samples.partition, .events)
        #expect(position == EventPosition(milliseconds: 2000, counter: 1, number: 3))
        #expect(try await log.event(at: position, in: Samples.partition, .events) == Samples.event(3))
        #expect(try await log.position(before: 2000, in: Samples.partition, .events).number == 1)
        #expect(try await log.position(before: 1000, in: Samples.partition, .events) == .start)
        #expect(try await log.position(before: 0, in: Samples.partition, .events) == .start)
        let absent = EventPosition(milliseconds: 1500, counter: 0, number: 2)
        #expect(try await log.event(at: absent, in: Samples.partition, .events) == nil)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `several partitions are read at once, each on its own`(kind: StoreKind) async throws {
        let shared = SharedCustomers(kind), partitions = AppPartition.all(of: Samples.bundleID)
        for (number, partition) in partitions.enumerated().dropFirst() {
            try await shared.append(Samples.event(number), to: partition)
        }
        let queries = partitions.map { EventQuery($0, after: .start, maximum: 10) }
        let batches = try #require(await shared.log.read(queries))
        #expect(batches.map { $0.events.map(\.event) } == [[]] + (1..<8).map { [Samples.event($0)] })
        let newest = try #require(await shared.log.newest(partitions, .events))
        #expect(newest == batches.map(\.last) && newest[0] == .start)
    }

    @Test(.redis, arguments: StoreKind.allCases)
    func `a reader learns how many events were removed before it read them`(kind: StoreKind) async throws {
        let retention = EventRetention(maximumCount: 16, maximumAge: .seconds(86_400))
        let shared = SharedCustomers(kind, retention: retention), log = shared.log
        try await shared.append(Samples.event(1))
        let first = try await Self.read(log)
        for number in 2...5 { try await shared.append(Samples.event(number)) }
        let second = try await Self.read(log, after: first.last)
        #expect(second.events.map(\.position.number) == [4, 5])
        #expect(second.missed == MissedEvents(count: 2))
        guard let redis = shared.redis else { return }
        try redis.server.ask("XTRIM", NotificationKeys(Samples.partition).events.text, "MAXLEN", "0")
        let third = try await Self.read(log, after: first.last)
        #expect(third.events.isEmpty && third.last == second.last)
        #expect(third.missed == MissedEvents(count: 4))
        #expect(try await Self.read(log, after: third.last) == EventBatch(events: [], last: second.last))
        // One that begins with the oldest event asked for no earlier one.
        #expect(try await Self.read(log) == EventBatch(events: [], last: second.last))
    }
}
