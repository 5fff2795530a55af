// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import HTTPServer

@Suite struct TurnSchedulerTests {
    private let loop = EmbeddedEventLoop()
    private let time = FakeTime()
    private let journal = Journal()

    @Test func `the verifications of one turn run together, and then their answers are sent`() {
        let scheduler = scheduler()
        for name in ["a", "b"] {
            scheduler.verify {
                verify(name, taking: .microseconds(200))
                scheduler.send { journal.write("answer \(name)") }
            }
        }
        #expect(journal.lines.isEmpty)
        loop.run()
        #expect(journal.lines == ["a", "b", "answer a", "answer b"])
    }

    @Test func `known answers of the same turn are sent before its verifications`() {
        let scheduler = scheduler()
        scheduler.verify { verify("new", taking: .microseconds(200)) }
        scheduler.send { journal.write("known") }
        loop.run()
        #expect(journal.lines == ["known", "new"])
    }

    @Test func `a known answer is sent while verifications wait for the next slice`() {
        let scheduler = scheduler()
        scheduler.verify { verify("long", taking: EventLoopScheduler.Limits.timeSlice) }
        scheduler.verify { verify("next", taking: .microseconds(1)) }
        loop.run()
        scheduler.send { journal.write("known") }
        loop.run()
        #expect(journal.lines == ["long", "known"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["long", "known", "next"])
    }

    @Test func `after a time slice the next verification waits for the event loop's other work`() {
        let scheduler = scheduler()
        scheduler.verify { verify("long", taking: EventLoopScheduler.Limits.timeSlice) }
        scheduler.verify { verify("next", taking: .microseconds(1)) }
        loop.execute { [journal] in journal.write("other work") }
        loop.run()
        #expect(journal.lines == ["long", "other work"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["long", "other work", "next"])
    }

    @Test func `waiting verifications run in order, one time slice at a time`() {
        let scheduler = scheduler()
        for name in ["a", "b", "c", "d"] { scheduler.verify { verify(name, taking: .microseconds(300)) } }
        loop.run()
        #expect(journal.lines == ["a", "b"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["a", "b", "c", "d"])
        scheduler.verify { verify("e", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.lines == ["a", "b", "c", "d"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["a", "b", "c", "d", "e"])
    }

    @Test func `short verifications of many turns need a pause, too`() {
        let scheduler = scheduler()
        for name in ["a", "b"] {
            scheduler.verify { verify(name, taking: .microseconds(300)) }
            loop.run()
        }
        scheduler.verify { verify("c", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.lines == ["a", "b"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["a", "b", "c"])
    }

    @Test func `a verification scheduled by another one runs after those that wait`() {
        let scheduler = scheduler()
        scheduler.verify {
            verify("first", taking: .microseconds(1))
            scheduler.verify { verify("brought on", taking: .microseconds(1)) }
        }
        scheduler.verify { verify("second", taking: .microseconds(1)) }
        loop.run()
        #expect(journal.lines == ["first", "second", "brought on"])
    }

    @Test func `what an answer brings on waits for the next turn`() {
        let scheduler = scheduler()
        sendFirstOfPipelined(by: scheduler)
        loop.run()
        #expect(journal.lines == ["first"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["first", "pipelined answer", "pipelined verification"])
    }

    @Test func `what the answer of a verification brings on waits for the next turn`() {
        let scheduler = scheduler()
        scheduler.verify { sendFirstOfPipelined(by: scheduler) }
        loop.run()
        #expect(journal.lines == ["first"])
        loop.advanceTime(by: EventLoopScheduler.Limits.pause)
        #expect(journal.lines == ["first", "pipelined answer", "pipelined verification"])
    }

    /// Sends an answer that brings on another answer and a verification.
    private func sendFirstOfPipelined(by scheduler: EventLoopScheduler) {
        scheduler.send {
            journal.write("first")
            scheduler.send { journal.write("pipelined answer") }
            scheduler.verify { verify("pipelined verification", taking: .microseconds(1)) }
        }
    }

    private func scheduler() -> EventLoopScheduler {
        EventLoopScheduler(on: loop) { [time] in time.now }
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
