// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing
import TestSupport

@testable import HTTPServer

@Suite struct TurnSchedulerTests {
    private let loop = EmbeddedEventLoop()
    private let time = FakeTime()
    private let journal = RecordedValues<String>()

    @Test func `the verifications of one turn run together, and then their answers are sent`() {
        let scheduler = scheduler()
        for name in ["a", "b"] {
            scheduler.verify {
                verify(name, taking: .microseconds(200))
                scheduler.send { journal.add("answer \(name)") }
            }
        }
        #expect(journal.all.isEmpty)
        loop.run()
        #expect(journal.all == ["a", "b", "answer a", "answer b"])
    }

    @Test func `known answers of the same turn are sent before its verifications`() {
        let scheduler = scheduler()
        scheduler.verify { verify("new", taking: .microseconds(200)) }
        scheduler.send { journal.add("known") }
        loop.run()
        #expect(journal.all == ["known", "new"])
    }

    @Test func `a known answer is sent while verifications wait for the next slice`() {
        let scheduler = scheduler()
        scheduler.verify { verify("long", taking: EventLoopScheduler.Limits.timeSlice) }
        scheduler.verify { verify("next", taking: .microseconds(1)) }
        loop.run()
        scheduler.send { journal.add("known") }
        loop.run()
        #expect(journal.all == ["long", "known"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["long", "known", "next"])
    }

    @Test func `after a time slice the next verification waits for the event loop's other work`() {
        let scheduler = scheduler()
        scheduler.verify { verify("long", taking: EventLoopScheduler.Limits.timeSlice) }
        scheduler.verify { verify("next", taking: .microseconds(1)) }
        loop.execute { [journal] in journal.add("other work") }
        loop.run()
        #expect(journal.all == ["long", "other work"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["long", "other work", "next"])
    }

    @Test func `waiting verifications run in order, one time slice at a time`() {
        let scheduler = scheduler()
        for name in ["a", "b", "c", "d"] { scheduler.verify { verify(name, taking: .microseconds(300)) } }
        loop.run()
        #expect(journal.all == ["a", "b"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["a", "b", "c", "d"])
        scheduler.verify { verify("e", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.all == ["a", "b", "c", "d"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["a", "b", "c", "d", "e"])
    }

    @Test func `short verifications of many turns need a pause, too`() {
        let scheduler = scheduler()
        for name in ["a", "b"] {
            scheduler.verify { verify(name, taking: .microseconds(300)) }
            loop.run()
        }
        scheduler.verify { verify("c", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.all == ["a", "b"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["a", "b", "c"])
    }

    @Test func `a verification scheduled by another one runs after those that wait`() {
        let scheduler = scheduler()
        scheduler.verify {
            verify("first", taking: .microseconds(1))
            scheduler.verify { verify("brought on", taking: .microseconds(1)) }
        }
        scheduler.verify { verify("second", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.all == ["first", "second", "brought on"])
    }

    @Test(arguments: [false, true])
    func `what an answer brings on waits for the next turn`(isVerified: Bool) {
        let scheduler = scheduler()
        if isVerified {
            scheduler.verify { sendFirstOfPipelined(by: scheduler) }
        } else {
            sendFirstOfPipelined(by: scheduler)
        }
        loop.run()
        #expect(journal.all == ["first"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.all == ["first", "pipelined answer", "pipelined verification"])
    }

    /// Sends an answer that brings on another answer and a verification.
    private func sendFirstOfPipelined(by scheduler: EventLoopScheduler) {
        scheduler.send {
            journal.add("first")
            scheduler.send { journal.add("pipelined answer") }
            scheduler.verify { verify("pipelined verification", taking: .microseconds(1)) }
        }
    }

    private func scheduler() -> EventLoopScheduler {
        EventLoopScheduler(on: loop) { [time] in time.now }
    }

    private func verify(_ name: String, taking duration: TimeAmount) {
        journal.add(name)
        time.pass(duration)
    }
}

private final class FakeTime: Sendable {
    private let value = Mutex(NIODeadline.uptimeNanoseconds(0))

    var now: NIODeadline { value.withLock { $0 } }

    func pass(_ amount: TimeAmount) { value.withLock { $0 = $0 + amount } }
}
