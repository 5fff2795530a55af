// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import HTTPServer

@Suite struct VerificationSchedulerTests {
    private let loop = EmbeddedEventLoop()
    private let time = FakeTime()
    private let journal = Journal()

    @Test func `a verification runs at once while the time slice lasts`() {
        let scheduler = scheduler()
        scheduler.run { verify("one", taking: .microseconds(200)) }
        scheduler.run { verify("two", taking: .microseconds(200)) }
        #expect(journal.lines == ["one", "two"])
    }

    @Test func `after a time slice the next verification waits for the event loop's other work`() {
        let scheduler = scheduler()
        scheduler.run { verify("long", taking: VerificationScheduler.Limits.timeSlice) }
        scheduler.run { verify("next", taking: .microseconds(1)) }
        loop.execute { [journal] in journal.write("known answer") }
        loop.run()
        #expect(journal.lines == ["long", "known answer"])
        loop.advanceTime(by: VerificationScheduler.Limits.pause)
        #expect(journal.lines == ["long", "known answer", "next"])
    }

    @Test func `waiting verifications run in order, one time slice at a time`() {
        let scheduler = scheduler()
        for name in ["a", "b", "c", "d"] { scheduler.run { verify(name, taking: .microseconds(300)) } }
        #expect(journal.lines == ["a", "b"])
        loop.advanceTime(by: VerificationScheduler.Limits.pause)
        #expect(journal.lines == ["a", "b", "c", "d"])
        scheduler.run { verify("e", taking: .microseconds(1)) }
        #expect(journal.lines == ["a", "b", "c", "d"])
        loop.advanceTime(by: VerificationScheduler.Limits.pause)
        #expect(journal.lines == ["a", "b", "c", "d", "e"])
    }

    @Test func `a verification scheduled while others wait runs after them`() {
        let scheduler = scheduler()
        scheduler.run { verify("long", taking: VerificationScheduler.Limits.timeSlice) }
        scheduler.run {
            verify("first", taking: .microseconds(1))
            scheduler.run { verify("brought on", taking: .microseconds(1)) }
        }
        scheduler.run { verify("second", taking: .microseconds(1)) }
        loop.advanceTime(by: VerificationScheduler.Limits.pause)
        #expect(journal.lines == ["long", "first", "second", "brought on"])
    }

    @Test func `a nested verification uses one time slice, not two`() {
        let scheduler = scheduler()
        scheduler.run {
            verify("outer", taking: .microseconds(300))
            scheduler.run { verify("inner", taking: .microseconds(300)) }
        }
        for name in ["a", "b", "c"] { scheduler.run { verify(name, taking: .microseconds(300)) } }
        loop.advanceTime(by: VerificationScheduler.Limits.pause)
        #expect(journal.lines == ["outer", "inner", "a", "b"])
    }

    private func scheduler() -> VerificationScheduler {
        VerificationScheduler(on: loop) { [time] in time.now }
    }

    private func verify(_ name: String, taking duration: TimeAmount) {
        journal.write(name)
        time.pass(duration)
    }
}

private final class FakeTime: Sendable {
    private let value = Mutex(NIODeadline.uptimeNanoseconds(0))

    var now: NIODeadline { value.withLock { $0 } }

    func pass(_ amount: TimeAmount) { value.withLock { $0 = $0 + amount } }
}

private final class Journal: Sendable {
    private let written = Mutex<[String]>([])

    var lines: [String] { written.withLock { $0 } }

    func write(_ line: String) { written.withLock { $0.append(line) } }
}
