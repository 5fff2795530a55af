// SPDX-License-Identifier: Apache-2.0

import Customers
import Redis
import Testing
import TestSupport

@testable import RedisStore
@testable import ServerTestSupport

/// Numbers that another writer to Redis has stored. None ends a node, and none keeps it from storing.
@Suite(.timeLimit(.patient)) struct HostileNumbersTests {
    typealias Samples = StoredEventSamples
    private var stage: NotificationStage { .current }

    /// The one number that is a time, far away.
    private static let far = "9007199254740992"

    private static let numbers = [
        "18446744073709551615", "9223372036854775807", "-9223372036854775808", far, "-1",
        "99999999999999999999999999999999", "1e400", "\u{0661}", "",
    ]

    @Test(.redis, arguments: numbers) func `a position with any number is read`(number: String) async throws {
        let log = stage.eventLog(), keys = NotificationKeys(Samples.partition)
        for position in ["1-0-\(number)", "\(number)-\(number)-\(number)", number] {
            try await stage.set("events:last", to: position, in: keys)
            let newest = try #require(await log.newest([Samples.partition], .events)?.first)
            for after in [EventPosition.start, newest, EventPosition(milliseconds: 1, counter: 1, number: 1)] {
                let query = EventQuery(Samples.partition, .events, after: after, maximum: 10)
                _ = try #require(await log.read([query])?.first)
            }
        }
    }

    @Test(.redis, arguments: numbers)
    func `an event is stored whatever its counter holds`(number: String) async throws {
        let log = stage.eventLog(), keys = NotificationKeys(Samples.partition)
        try await stage.set("events", to: number, in: keys)
        try await stage.append(Samples.event(1))
        try await stage.append(Samples.event(2))
        let query = EventQuery(Samples.partition, .events, after: .start, maximum: 10)
        let batch = try #require(await log.read([query])?.first)
        #expect(batch.events.map(\.event) == [Samples.event(1), Samples.event(2)])
        #expect(batch.events[0].position.number < batch.events[1].position.number)
    }

    @Test(.redis, arguments: numbers) func `totals of any size are surveyed and summed`(number: String) async throws {
        let keys = NotificationKeys(Samples.partition)
        for field in ["bytes", "last", "resumed", "surveyed"] { try await stage.set(field, to: number, in: keys) }
        for _ in 1...2 {
            let survey = try #require(await stage.store().survey(Samples.partition))
            let bytes = [survey.bytes, survey.bytes].reduce(0, +)
            #expect(bytes >= 0 && bytes <= 2 << 48)
        }
    }

    @Test(arguments: numbers)
    func `a notification is stored, and removed, whatever its counters hold`(number: String) async throws {
        typealias Samples = NotificationSamples
        try await NotificationStage.with { stage in
            let store = stage.store(maximumBytes: 1 << 50), partition = Samples.partition
            let keys = NotificationKeys(partition)
            for isUsable in [true, false] {
                let identity = Samples.identity(isUsable ? 1 : 2)
                for field in ["bytes", "duplicates"] { try await stage.set(field, to: number, in: keys) }
                #expect(try await store.store(Samples.record(), identity, in: partition))
                try await stage.set("bytes", to: number, in: keys)
                #expect(try await !store.store(Samples.record(), identity, in: partition))
                let taken = await store.take(from: partition, includingStalled: false)
                #expect(try taken.map { try $0.record.get() } == [Samples.record()])
                if isUsable {
                    await store.finish(taken, in: partition)
                } else {
                    await store.discard(try #require(taken.first), .unreadable, in: partition)
                }
                let survey = try #require(await store.survey(partition))
                #expect(survey.entries == 0 && survey.bytes == 0)
            }
        }
    }

    @Test(.redis, arguments: numbers) func `a job is taken whatever its counters hold`(number: String) async throws {
        let store = stage.jobs()
        _ = try await store.create(JobSamples.job("ver_1"), key: nil)
        let key = RedisWord(JobKeys.job("ver_1")), value = RedisWord(number)
        for field: RedisWord in ["attempts", "losses", "bytes", "deadline", "ended"] {
            _ = try await stage.redis.send(RedisCommand("HSET", key: key, field, value))
        }
        let taken = try #require(try await store.takeOne())
        #expect(try await store.end(taken, .failed, result: taken.job.result))
    }

    @Test(arguments: numbers)
    func `a purchase is bound to its account whatever the times of its record`(number: String) async throws {
        typealias Samples = OwnershipSamples
        try await NotificationStage.with { stage in
            let store = stage.ownership(), chain = Samples.chain()
            #expect(try await store.binding(by: "a") == .new)
            let key = OwnershipKeys(chain.partition).owner(EntryNames(StoreSamples.keys()).owners(of: chain)[0])
            _ = try await stage.redis.send(RedisCommand("HSET", key: key, "r", RedisWord(number)))
            #expect(try await store.binding(by: "a") == .same)
            #expect(try await store.report(Samples.event(1), about: chain) == (number != Self.far))
        }
    }

    @Test(.redis, arguments: numbers) func `a lease that ends at no time is none`(number: String) async throws {
        let first = stage.deliveries(), second = stage.deliveries()
        _ = try #require(try await first.acquire(Samples.queue, for: .seconds(30)))
        let key = DeliveryKeys(Samples.queue).queue
        _ = try await stage.redis.send(RedisCommand("HSET", key: key, "until", RedisWord(number)))
        let state = try await second.acquire(Samples.queue, for: .seconds(30))
        #expect((state == nil) == (number == Self.far))
    }
}

extension NotificationStage {
    fileprivate func set(_ field: String, to value: String, in keys: NotificationKeys) async throws {
        _ = try await redis.send(RedisCommand("HSET", key: keys.totals, RedisWord(field), RedisWord(value)))
    }
}
