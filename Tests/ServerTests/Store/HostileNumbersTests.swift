// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Events
import Notifications
import Redis
import TestSupport
import Testing

@testable import RedisCustomers
@testable import RedisStore

/// Numbers that another writer to Redis has stored. None ends a node, and none keeps it from storing.
@Suite(.timeLimit(.patient)) struct HostileNumbersTests {
    typealias Samples = StoredEventSamples

    private static let numbers = [
        "18446744073709551615", "9223372036854775807", "-9223372036854775808", "9007199254740992", "-1",
        "99999999999999999999999999999999", "1e400", "\u{0661}", "",
    ]

    @Test(arguments: numbers) func `a position with any number is read`(number: String) async throws {
        try await NotificationStage.with { stage in
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
    }

    @Test(arguments: numbers) func `an event is stored whatever its counter holds`(number: String) async throws {
        try await NotificationStage.with { stage in
            let log = stage.eventLog(), keys = NotificationKeys(Samples.partition)
            try await stage.set("events", to: number, in: keys)
            try await stage.append(Samples.event(1))
            try await stage.append(Samples.event(2))
            let query = EventQuery(Samples.partition, .events, after: .start, maximum: 10)
            let batch = try #require(await log.read([query])?.first)
            #expect(batch.events.map(\.event) == [Samples.event(1), Samples.event(2)])
            #expect(batch.events[0].position.number < batch.events[1].position.number)
        }
    }

    @Test(arguments: numbers) func `totals of any size are surveyed and summed`(number: String) async throws {
        try await NotificationStage.with { stage in
            let keys = NotificationKeys(Samples.partition)
            for field in ["bytes", "resumed", "surveyed"] { try await stage.set(field, to: number, in: keys) }
            let store = stage.store()
            let survey = await store.survey(Samples.partition)
            // A total that is no number makes the script fail, which is no survey.
            let bytes = survey.map { [$0.bytes, $0.bytes].reduce(0, +) } ?? 0
            #expect(bytes >= 0 && bytes <= 2 << 48)
        }
    }
}

extension NotificationStage {
    fileprivate func set(_ field: String, to value: String, in keys: NotificationKeys) async throws {
        _ = try await redis.send(RedisCommand("HSET", key: keys.totals, RedisWord(field), RedisWord(value)))
    }
}
