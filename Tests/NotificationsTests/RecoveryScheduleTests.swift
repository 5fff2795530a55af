// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Testing

@testable import Customers

struct RecoverySpanTests {
    private typealias Samples = RecoverySamples

    @Test func `a span begins shortly before the end of the last recovery`() throws {
        let span = try #require(RecoverySpan(after: Samples.time(-3600), in: .production, at: Samples.now))
        #expect(span.start == Samples.time(-4200) && span.end == Samples.now)
    }

    @Test func `without an earlier recovery, the last day is read`() throws {
        let span = try #require(RecoverySpan(after: nil, in: .production, at: Samples.now))
        #expect(span.start == Samples.time(-87_000) && span.end == Samples.now)
    }

    @Test(arguments: [(Environment.production, -180), (.sandbox, -30)] as [(Environment, Int64)])
    func `no span begins before Apple's history`(environment: Environment, days: Int64) throws {
        for recovered in [Samples.time(-400 * 86_400), Timestamp(millisecondsSince1970: 0)] {
            let span = try #require(RecoverySpan(after: recovered, in: environment, at: Samples.now))
            #expect(span.start == Samples.time(days * 86_400 + 3600))
            #expect(span.end == span.start.advanced(by: .seconds(87_000)))
        }
    }

    @Test func `the parts of a long span overlap, and reach its end`() throws {
        var recovered = Samples.time(-3 * 86_400), parts = 0
        while recovered < Samples.now {
            let span = try #require(RecoverySpan(after: recovered, in: .production, at: Samples.now))
            #expect(span.start < recovered && recovered < span.end)
            (recovered, parts) = (span.end, parts + 1)
        }
        #expect(recovered == Samples.now && parts == 3)
    }

    @Test func `a span that ends before it begins is none`() {
        #expect(RecoverySpan(from: Samples.now, to: Samples.now, in: .production, at: Samples.now) == nil)
        let old = Samples.time(-40 * 86_400)
        #expect(RecoverySpan(from: old, to: Samples.time(-39 * 86_400), in: .sandbox, at: Samples.now) == nil)
        #expect(RecoverySpan(from: old, to: Samples.time(-39 * 86_400), in: .production, at: Samples.now) != nil)
    }
}

struct RecoveryScheduleTests {
    private typealias Samples = RecoverySamples

    private static func schedule(after delay: Int64 = 0) -> RecoverySchedule {
        RecoverySchedule(interval: .seconds(3600), startingAt: Samples.now, after: .seconds(delay))
    }

    /// Returns the seconds after which a run is due.
    private static func due(_ schedule: RecoverySchedule) -> Int64? {
        (0...7200).first { schedule.isDue(at: Samples.time($0)) }
    }

    @Test func `the first run is due after the start's delay`() {
        #expect(Self.due(Self.schedule(after: 40)) == 40)
    }

    @Test func `a node reads at its start, unless another one has read since`() {
        let schedule = Self.schedule()
        #expect(schedule.isRequired(after: nil, at: Samples.time(30)))
        #expect(schedule.isRequired(after: Samples.time(-1), at: Samples.time(30)))
        #expect(!schedule.isRequired(after: Samples.time(20), at: Samples.time(30)))
    }

    @Test func `later, the fleet reads once in each interval`() {
        var schedule = Self.schedule()
        schedule.record(.recovered(upTo: Samples.time(20)), at: Samples.time(30))
        #expect(Self.due(schedule) == 3620)
        #expect(!schedule.isRequired(after: Samples.time(20), at: Samples.time(3619)))
        #expect(schedule.isRequired(after: Samples.time(20), at: Samples.time(3620)))
        #expect(!schedule.isRequired(after: Samples.time(1800), at: Samples.time(3621)))
    }

    @Test func `a history that is not read up to now is read on at once`() {
        var schedule = Self.schedule()
        schedule.record(.recovered(upTo: Samples.time(-86_400)), at: Samples.time(30))
        #expect(Self.due(schedule) == 30)
        schedule.record(.interrupted, at: Samples.time(31))
        #expect(Self.due(schedule) == 31)
    }

    @Test func `failures back off up to the interval, and a success ends that`() {
        var schedule = Self.schedule()
        for delay: Int64 in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
            schedule.record(.failed, at: Samples.now)
            #expect(Self.due(schedule) == delay)
        }
        for _ in 0..<100 { schedule.record(.failed, at: Samples.now) }
        #expect(Self.due(schedule) == 3600)
        schedule.record(.recovered(upTo: Samples.now), at: Samples.now)
        schedule.record(.failed, at: Samples.now)
        #expect(Self.due(schedule) == 60)
    }

    @Test func `an app that Apple does not know is tried once in each interval`() {
        var schedule = Self.schedule()
        schedule.record(.appUnknown, at: Samples.now)
        #expect(Self.due(schedule) == 3600 && schedule.isAppUnknown)
        schedule.record(.failed, at: Samples.now)
        #expect(!schedule.isAppUnknown)
    }

    @Test func `a lease of another node is waited for`() {
        var schedule = Self.schedule()
        schedule.record(.leased, at: Samples.now)
        #expect(Self.due(schedule) == 30)
    }

    @Test func `a loss is due at once, whatever is read, and the oldest one counts`() {
        var schedule = Self.schedule()
        schedule.record(.recovered(upTo: Samples.time(10)), at: Samples.time(10))
        schedule.recordLoss(since: Samples.time(-500), at: Samples.time(20))
        schedule.recordLoss(since: Samples.time(-100), at: Samples.time(21))
        #expect(Self.due(schedule) == 21 && schedule.isRequired(after: Samples.time(10), at: Samples.time(21)))
        schedule.removeLoss(since: Samples.time(-100))
        #expect(schedule.lostSince == Samples.time(-500))
        schedule.removeLoss(since: Samples.time(-500))
        #expect(schedule.lostSince == nil)
    }

    @Test func `a loss that is not recorded is read again, though not at once`() {
        var schedule = Self.schedule()
        schedule.recordLoss(since: Samples.time(-100), at: Samples.now)
        schedule.record(.recovered(upTo: Samples.time(1)), at: Samples.time(1))
        #expect(Self.due(schedule) == 31)
    }

    @Test func `a clock that was set back does not stop recovery`() {
        var schedule = Self.schedule()
        schedule.record(.recovered(upTo: Samples.time(86_400)), at: Samples.time(86_400))
        #expect(schedule.isDue(at: Samples.now) && !schedule.isDue(at: Samples.time(86_401)))
    }
}
