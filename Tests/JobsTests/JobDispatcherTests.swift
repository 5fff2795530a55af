// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization
import Testing

@testable import Customers

struct JobDispatcherTests {
    /// Ten clients, an hour without Apple, then 20 requests a second.
    @Test func `after an hour without Apple ten thousand jobs end within the budget and two minutes`() async throws {
        let budget = 20, count = 10_000
        // Every hundredth attempt gets as far as Apple, and fails there.
        let bench = JobBench(budget: budget) { run in
            run.isMultiple(of: 100) ? .request(.upstreamUnreachable) : .upstream(.circuitOpen)
        }
        bench.apple.setDown([.production])
        for number in 0..<count { try bench.create(number, client: "client \(number % 10)") }
        let nodes = [bench.node(), bench.node()]
        await bench.run(nodes, for: .seconds(3600), step: .seconds(1))
        #expect(bench.store.survey()?.waiting == count)
        let callsInOutage = bench.apple.calls

        bench.apple.setDown([])
        let returned = bench.clock.elapsed
        await bench.run(nodes, for: .seconds(3600), step: .milliseconds(250))
        let drain = bench.clock.elapsed - returned
        #expect(drain <= .seconds(120 + count / budget), "took \(drain)")
        #expect(bench.store.survey()?.waiting == 0)
        #expect(bench.apple.calls - callsInOutage == count)
        #expect(Double(count) <= Double(budget) * (1 + drain / .seconds(1)))
        // Attempts that did not get as far as Apple do not count.
        #expect(bench.apple.refused > 0)
        #expect(bench.store.list(.done, maximum: count).reduce(0) { $0 + $1.attempts } == bench.apple.calls)
        #expect(Set(bench.events.events.map(\.id)).count == count)
    }

    @Test func `while Apple is away a node tries each job every thirty seconds at most`() async throws {
        let bench = JobBench()
        bench.apple.setDown([.production])
        for number in 0..<100 { try bench.create(number) }
        await bench.run([bench.node()], for: .seconds(600), step: .milliseconds(250))
        #expect(bench.apple.runs <= 100 * (600 / 30 + 1))
        #expect(bench.store.list(.waiting, maximum: 100).allSatisfy { $0.attempts == 0 })
    }

    /// The second pause of the lane is a doubled one, unless Apple was reached in between.
    @Test(arguments: [(nil, false), (.upstreamSlow, false), (.upstreamTimeout, true)] as [(DegradedReason?, Bool)])
    func `only an answer or a failure of Apple's shortens the next pause`(
        reason: DegradedReason?, isOfApple: Bool
    ) async throws {
        let bench = JobBench { run in run == 2 ? .request(reason) : .upstream(.circuitOpen) }
        let node = bench.node()
        try bench.create(1)
        bench.apple.setDown([.production])
        for pause in [JobPace.Limits.delay.upperBound, JobPace.Limits.delay.upperBound, .zero] {
            await bench.turn(node)
            bench.clock.advance(by: pause)
        }
        #expect(bench.apple.runs == 3)
        try bench.create(2)
        bench.clock.advance(by: JobPace.Limits.pause.lowerBound)
        await bench.turn(node)
        #expect(bench.apple.runs == (isOfApple ? 4 : 3))
    }

    @Test func `an exhausted budget postpones a job, and does not count as an attempt`() async throws {
        let bench = JobBench(budget: 1), node = bench.node()
        try bench.create(1)
        try bench.create(2)
        await bench.turn(node)
        #expect(bench.store.list(.done, maximum: 9).map(\.attempts) == [1])
        let waiting = try #require(bench.store.list(.waiting, maximum: 9).first)
        #expect(waiting.attempts == 0)
        #expect(waiting.nextAttempt.map { $0 > bench.clock.time } == true)
    }

    @Test func `a lane without Apple does not hold back the other`() async throws {
        let bench = JobBench(), node = bench.node()
        bench.apple.setDown([.sandbox])
        for number in 0..<100 {
            try bench.create(number, lane: .sandbox)
            try bench.create(number, lane: .production)
        }
        await bench.run([node], for: .seconds(5), step: .milliseconds(250))
        #expect(bench.store.list(.done, maximum: 200).map(\.lane) == Array(repeating: .production, count: 100))
        #expect(bench.store.list(.waiting, maximum: 200).count == 100)
    }

    @Test func `a job whose worker disappeared goes on elsewhere when the lease ends`() async throws {
        let bench = JobBench(), node = bench.node()
        let job = try bench.create()
        #expect(bench.store.take(1, in: .production, lease: JobDispatcher.Limits.lease).count == 1)
        bench.clock.advance(by: JobDispatcher.Limits.lease - .seconds(1))
        await bench.turn(node)
        #expect(bench.store.statuses(of: [job.id]) == [.waiting])
        bench.clock.advance(by: .seconds(1))
        await bench.turn(node)
        #expect(bench.store.statuses(of: [job.id]) == [.done])
    }

    @Test func `a worker that lost its lease changes nothing`() async throws {
        let bench = JobBench()
        try bench.create()
        let late = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        bench.clock.advance(by: .seconds(1))
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(!bench.store.end(late, .done, result: .genuine))
        bench.store.postpone(late, for: .seconds(9), result: .genuine, isAttempt: true)
        #expect(bench.store.job(late.job.id)?.result == .undecided)
        #expect(bench.store.end(taken, .done, result: .genuine))
    }

    @Test func `a job that ended three workers fails without a fourth`() async throws {
        let bench = JobBench(), node = bench.node()
        let job = try bench.create()
        for losses in 0..<JobDispatcher.Limits.losses {
            let taken = bench.store.take(1, in: .production, lease: .seconds(1))
            #expect(taken.map(\.losses) == [losses])
            bench.clock.advance(by: .seconds(1))
        }
        await bench.turn(node)
        #expect(bench.store.statuses(of: [job.id]) == [.failed])
        #expect(bench.apple.runs == 0)
        #expect(bench.seen == [.ended(.failed, after: .seconds(3)), .deadLettered])
        #expect(bench.store.survey()?.failed == 1)
    }

    @Test func `a node that drains takes no more jobs`() async throws {
        let bench = JobBench(), node = bench.node()
        let job = try bench.create()
        node.drain()
        #expect(await node.take(in: .production).isEmpty)
        #expect(await bench.node().take(in: .production).map(\.job.id) == [job.id])
    }

    @Test func `what the store did not learn of an attempt is told before the next one`() async throws {
        let bench = JobBench(), store = InterruptedJobStore(bench.store), node = bench.node(store)
        let job = try bench.create()
        for taken in await node.take(in: .production) {
            store.isReachable.withLock { $0 = false }
            await node.work(on: taken, in: .production)
        }
        #expect(bench.apple.runs == 1 && bench.store.statuses(of: [job.id]) == [.waiting])
        bench.clock.advance(by: JobDispatcher.Limits.lease)
        #expect(await node.take(in: .production).isEmpty)
        store.isReachable.withLock { $0 = true }
        await bench.turn(node)
        #expect(store.survivors.withLock { $0 } == [job.id] && bench.store.statuses(of: [job.id]) == [.done])
        // Told once.
        await bench.turn(node)
        #expect(store.survivors.withLock { $0 } == [job.id])
    }

    @Test func `an attempt that ends resets the losses`() async throws {
        let bench = JobBench(), node = bench.node()
        try bench.create()
        for _ in 1...2 {
            _ = bench.store.take(1, in: .production, lease: .seconds(1))
            bench.clock.advance(by: .seconds(1))
        }
        bench.apple.setDown([.production])
        await bench.turn(node)
        bench.clock.advance(by: JobPace.Limits.delay.upperBound)
        #expect(bench.store.take(1, in: .production, lease: .seconds(1)).map(\.losses) == [0])
    }

    @Test func `after 72 hours a job expires with its last answer`() async throws {
        let bench = JobBench { _ in .request(.upstreamUnreachable) }, node = bench.node()
        bench.apple.setDown([.production])
        let job = try bench.create()
        await bench.run([node], for: .seconds(3 * 86_400 + 90), step: .seconds(30))
        let ended = try #require(bench.store.job(job.id))
        #expect(ended.status == .expired && ended.result == .undecided && ended.request == nil)
        #expect(ended.attempts == bench.apple.runs)
        let after = bench.seen.compactMap { event in
            if case .ended(.expired, let after) = event { after } else { nil }
        }
        #expect(after.count == 1 && after.allSatisfy { $0 >= .seconds(3 * 86_400) && $0 < .seconds(3 * 86_400 + 61) })
    }

    @Test func `a job that ended unannounced is announced, and not run again`() async throws {
        let bench = JobBench(), node = bench.node()
        let job = try bench.create()
        let taken = try #require(bench.store.take(1, in: .production, lease: .seconds(1)).first)
        #expect(bench.store.end(taken, .done, result: .genuine))
        bench.clock.advance(by: .seconds(1))
        await bench.turn(node)
        #expect(bench.apple.runs == 0)
        #expect(bench.events.events.map(\.type) == [.verificationCompleted])
        let expected = Event.id(
            "verification.completed", bundleID: "com.example.shop", .production, cause: [job.id])
        #expect(bench.events.events.first?.id == expected)
        bench.clock.advance(by: .seconds(100))
        await bench.turn(node)
        #expect(bench.events.events.count == 1)
    }

    @Test func `an end that is announced again makes the same event`() async throws {
        let bench = JobBench(), store = InterruptedJobStore(bench.store)
        let cause = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        try bench.create(traceparent: cause)
        store.forgetsAnnouncements.withLock { $0 = true }
        await bench.turn(bench.node(store))
        #expect(bench.events.events.count == 1)
        bench.clock.advance(by: JobDispatcher.Limits.lease)
        await bench.turn(bench.node())
        let written = bench.events.events
        #expect(written.count == 2 && Set(written).count == 1)
        #expect(written.first?.traceparent == cause, "the span of the request that made the job")
        #expect(written.first?.occurredAt == JobClock.start)
    }

    @Test func `a verdict about an unknown app has no event`() {
        let bench = JobBench()
        #expect(Event(completed: bench.job(), at: bench.clock.time) == nil)
    }

    @Test func `a cancelled dispatcher ends, and takes nothing more`() async throws {
        let bench = JobBench(), node = bench.node()
        let work = Task { await node.run() }
        work.cancel()
        await work.value
        try bench.create()
        #expect(bench.store.list(.waiting, maximum: 1).count == 1)
    }
}
