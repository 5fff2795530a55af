// SPDX-License-Identifier: Apache-2.0

import Histogram
import NIOCore
import Synchronization
import Testing
import TestSupport

@testable import LoadTest

/// The generator against servers that behave and that do not.
@Suite(.serialized)
struct LoadRunTests {
    private static func plan(_ server: PlayServer, rate: Double, seconds: Double = 1) throws -> LoadPlan {
        var plan = LoadPlan(target: try LoadTarget("http://127.0.0.1:\(server.port)"))
        plan.connections = 4
        plan.schedule = LoadSchedule(
            curve: RateCurve(stages: [RateStage(from: rate, to: rate, seconds: seconds)]), pattern: .constant,
            first: rate)
        // Machines that run tests are busy.
        (plan.limits.late, plan.limits.maximumBusyShare) = (.seconds(3600), .infinity)
        return plan
    }

    private static func measure(
        _ plan: LoadPlan, _ tell: (LoadRunEvent) -> Void = { _ in }
    ) async throws -> LoadMeasurements {
        let request = RequestForm.request("GET", plan.target, [], body: nil)
        return try await LoadRun(plan: plan) { _ in InTurn([request]) }.run(tell)
    }

    /// Every request that was due came to something, and to one thing only.
    private static func isBalanced(_ counts: RequestCounts) -> Bool {
        counts.intended
            == counts.answered + counts.shed + counts.failed + counts.timedOut + counts.unsent + counts.abandoned
    }

    // MARK: - A server that behaves

    @Test(arguments: [1, 3])
    func `every request of the schedule is sent once and answered`(workers: Int) async throws {
        try await PlayServer.with { _ in
            .answer(PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 500)
            plan.workers = workers
            var slices: [SecondSlice] = []
            let result = try await Self.measure(plan) { event in
                if case .second(let slice) = event { slices.append(slice) }
            }
            #expect(result.counts.intended == 500 && result.counts.sent == 500 && result.counts.answered == 500)
            #expect(result.statuses == [200: 500] && result.failures.isEmpty)
            #expect(result.response.count == 500 && result.service.count == 500)
            #expect(result.counts[.ok] == 500 && result.byOutcome[LoadOutcome.ok.index].count == 500)
            #expect(slices.map(\.second) == Array(slices.indices))
            #expect(slices.reduce(0) { $0 + $1.counts.answered } == 500)
            #expect(result.counts.receivedBytes == 500 * PlayServer.ok.utf8.count)
            #expect(result.keptSchedule(of: plan))
        }
    }

    @Test func `a request is made when it is sent, however long it was due`() async throws {
        try await PlayServer.with { _ in
            .silence
        } _: { server in
            var plan = try Self.plan(server, rate: 500)
            plan.timeout = .milliseconds(200)
            let traffic = CountedRequests(request: RequestForm.request("GET", plan.target, [], body: nil))
            let result = try await LoadRun(plan: plan) { _ in traffic }.run { _ in }
            #expect(result.counts.intended == 500 && result.counts.unsent > 0)
            #expect(traffic.made.load(ordering: .relaxed) == result.counts.sent)
        }
    }

    @Test func `what warms up is sent and not counted, but stands in the seconds`() async throws {
        try await PlayServer.with { _ in
            .answer(PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 100)
            plan.warmupSeconds = 1
            var seen = 0
            let result = try await Self.measure(plan) { event in
                if case .second(let slice) = event { seen += slice.counts.answered }
            }
            #expect(result.counts.intended == 100 && result.response.count == 100)
            #expect(seen == 200)
        }
    }

    @Test func `a number of requests ends a run`() async throws {
        try await PlayServer.with { _ in
            .answer(PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 2000, seconds: .infinity)
            plan.maximumRequests = 50
            #expect(try await Self.measure(plan).counts.answered == 50)
        }
    }

    @Test func `a closed loop has as many requests under way as it has connections`() async throws {
        try await PlayServer.with { _ in
            .answerAfter(.milliseconds(20), PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 1)
            plan.isClosed = true
            plan.closedSeconds = 1000
            plan.maximumRequests = 40
            let result = try await Self.measure(plan)
            #expect(result.counts.answered == 40)
            // Ten rounds of four.
            #expect(result.seconds >= 0.2)
            #expect(result.response.shortest ?? 0 >= 20)
        }
    }

    @Test func `requests that are pipelined are answered in their order`() async throws {
        try await PlayServer.with { _ in
            .answerAfter(.milliseconds(1), PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 1000, seconds: 0.3)
            (plan.connections, plan.pipelining) = (1, 300)
            let result = try await Self.measure(plan)
            #expect(result.counts.answered == 300 && Self.isBalanced(result.counts))
        }
    }

    // MARK: - A server that does not

    /// Coordinated omission: who only times what is sent sees one slow answer; those who came meanwhile waited, too.
    @Test func `the wait behind a stall counts from when requests were due`() async throws {
        let stall = Duration.milliseconds(500)
        try await PlayServer.with { number in
            number == 50 ? .answerAfter(stall, PlayServer.ok) : .answer(PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 200)
            plan.connections = 1
            let result = try await Self.measure(plan)
            let slow = Int(result.response.histogram.count(within: 100_000_000...3_600_000_000_000))
            #expect(result.counts.answered == 200)
            // Of the 100 that were due in half a second, 80 waited for more than a tenth of a second.
            #expect(slow >= 60)
            #expect(try #require(result.response.milliseconds(atPercentile: 90)) > 200)
            // That wait, of 250 ms on average for a hundred of two hundred, is not the server's: a machine with much to do
            // makes all of them longer, and the difference, too.
            let difference = try #require(result.response.mean) - #require(result.service.mean)
            #expect(difference > 100, "\(difference) ms")
        }
    }

    @Test func `who is not answered in time has failed, and the wait counts`() async throws {
        try await PlayServer.with { number in
            number < 10 ? .answer(PlayServer.ok) : .silence
        } _: { server in
            var plan = try Self.plan(server, rate: 100, seconds: 0.5)
            plan.timeout = Patience.forLimit
            let result = try await Self.measure(plan)
            #expect(result.counts.answered == 10 && Self.isBalanced(result.counts))
            #expect(result.counts.timedOut > 0 && result.counts.timedOut == result.failures[.timeout])
            #expect(result.counts.errors == 40 && result.counts[.error] == 40)
            #expect(result.response.longest ?? 0 >= Patience.forLimit / .milliseconds(1))
        }
    }

    @Test func `a server that closes its connections is met on new ones`() async throws {
        let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        try await PlayServer.with { _ in
            .answerAndClose(last)
        } _: { server in
            let result = try await Self.measure(try Self.plan(server, rate: 100))
            #expect(result.counts.answered == 100 && result.failures.isEmpty)
        }
    }

    @Test func `a connection that ends without an answer is a failure of that request alone`() async throws {
        try await PlayServer.with { number in
            number.isMultiple(of: 10) ? .close : .answer(PlayServer.ok)
        } _: { server in
            let result = try await Self.measure(try Self.plan(server, rate: 200, seconds: 0.5))
            #expect(result.failures == [.connectionEnded: 10])
            #expect(result.counts.answered == 90 && result.counts.failed == 10 && Self.isBalanced(result.counts))
        }
    }

    @Test(arguments: ["SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", PlayServer.ok + "more"])
    func `a server that speaks something else is a failure with a name`(text: String) async throws {
        try await PlayServer.with { _ in
            .answer(text)
        } _: { server in
            let result = try await Self.measure(try Self.plan(server, rate: 50, seconds: 0.4))
            #expect(Self.isBalanced(result.counts) && result.counts.intended == 20)
            // Bytes after a good answer belong to no request.
            #expect(text.hasPrefix(PlayServer.ok) ? result.counts.answered == 20 : result.failures == [.badAnswer: 20])
        }
    }

    @Test func `errors and refusals are told apart`() async throws {
        @Sendable func answer(_ status: Int) -> PlayServer.Move {
            .answer("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
        }
        try await PlayServer.with { number in
            answer([200, 429, 503, 404, 500][number % 5])
        } _: { server in
            let result = try await Self.measure(try Self.plan(server, rate: 200, seconds: 0.5))
            #expect(result.statuses == [200: 20, 429: 20, 503: 20, 404: 20, 500: 20])
            #expect(result.counts.shed == 40 && result.counts.failed == 20 && result.counts.answered == 40)
            #expect(result.counts[.refused] == 20 && Self.isBalanced(result.counts))
        }
    }

    @Test func `more than may wait for a connection are not sent`() async throws {
        try await PlayServer.with { _ in
            .silence
        } _: { server in
            var plan = try Self.plan(server, rate: 1000, seconds: 0.3)
            (plan.connections, plan.timeout, plan.limits.maximumWaiting) = (1, Patience.forLimit, 100)
            let result = try await Self.measure(plan)
            #expect(Self.isBalanced(result.counts) && result.counts.intended == 300)
            #expect(result.failures[.queueFull, default: 0] >= 190)
            #expect(result.counts.unsent >= 290)
        }
    }

    @Test func `a rate beyond the generator fails in good order, and answers are read meanwhile`() async throws {
        try await PlayServer.with { _ in
            .answer(PlayServer.ok)
        } _: { server in
            var answered: [Int] = []
            // A busy machine answers few in a second. Without reading, no span is long enough.
            for seconds in [1, 5, 20] {
                var plan = try Self.plan(server, rate: 500_000, seconds: Double(seconds))
                plan.limits.maximumWaiting = 100
                let result = try await Self.measure(plan)
                #expect(result.counts.intended == 500_000 * seconds && Self.isBalanced(result.counts))
                // More than could wait, and were under way, at any one time.
                let capacity = plan.limits.maximumWaiting + plan.connections
                if result.counts.answered > capacity, result.failures[.queueFull, default: 0] > 100_000 { return }
                answered.append(result.counts.answered)
            }
            Issue.record("answered: \(answered)")
        }
    }

    // MARK: - Beginning and ending

    @Test func `a closed port is reported before anything is sent`() async throws {
        // A port below 1024 that no server has.
        let plan = LoadPlan(target: try LoadTarget("http://127.0.0.1:1"))
        await #expect(throws: LoadRunError.notConnected("127.0.0.1:1")) { try await Self.measure(plan) }
    }

    @Test func `more connections than the system allows are refused, not half made`() async throws {
        var plan = LoadPlan(target: try LoadTarget("http://127.0.0.1:1"))
        plan.connections = 100_000_000
        await #expect {
            try await Self.measure(plan)
        } throws: { error in
            if case .tooManyConnections(let most) = error as? LoadRunError { most > 100 } else { false }
        }
    }

    @Test func `a server that is gone for a while is found again`() async throws {
        // The listener stays; connections end as they come, as in front of a server that starts anew.
        try await PlayServer.with { number in
            (20..<30).contains(number) ? .close : .answer(PlayServer.ok)
        } _: { server in
            let result = try await Self.measure(try Self.plan(server, rate: 100))
            #expect(result.counts.failed == 10 && result.counts.answered == 90 && Self.isBalanced(result.counts))
        }
    }

    @Test func `a run that is stopped returns what it has`() async throws {
        try await PlayServer.with { number in
            number < 20 ? .answer(PlayServer.ok) : .silence
        } _: { server in
            var plan = try Self.plan(server, rate: 100, seconds: 600)
            plan.timeout = .seconds(600)
            let request = RequestForm.request("GET", plan.target, [], body: nil)
            let run = LoadRun(plan: plan) { _ in InTurn([request]) }
            let result = try await run.run { event in
                if case .second(let slice) = event, slice.second == 0 { run.stop() }
            }
            // On a busy machine the first second has fewer answers.
            #expect(result.counts.answered <= 20 && result.counts.sent <= result.counts.answered + 4)
            #expect(result.counts.abandoned > 14 && result.counts.errors == 0 && Self.isBalanced(result.counts))
        }
    }

    @Test func `a generator that is late says so`() async throws {
        try await PlayServer.with { _ in
            .answer(PlayServer.ok)
        } _: { server in
            var plan = try Self.plan(server, rate: 500, seconds: 0.5)
            // Nothing is on time to the nanosecond.
            (plan.limits.late, plan.limits.maximumLagShare) = (.zero, 0)
            let result = try await Self.measure(plan)
            #expect(!result.keptSchedule(of: plan) && result.lateShare > 0.5)
            let judgement = Judgement(result, plan, [], wasInterrupted: false)
            #expect(judgement.verdict == .generatorOverloaded && judgement.verdict.exitStatus == 98)
            #expect(judgement.reasons.first?.contains("late by the generator itself") == true)
        }
    }

    // MARK: - Each request

    @Test func `the end of each request is told, with its answer or without`() async throws {
        try await PlayServer.with { number in
            number == 3 ? .close : .answer(PlayServer.ok)
        } _: { server in
            let ends = Mutex<[Completion]>([])
            var plan = try Self.plan(server, rate: 100, seconds: 0.1)
            plan.completion = { end in ends.withLock { $0.append(end) } }
            _ = try await Self.measure(plan)
            let all = ends.withLock { $0 }
            #expect(all.count == 10 && all.count { $0.status == nil } == 1)
            #expect(all.allSatisfy { $0.latency > .zero && ($0.status == nil) == $0.opening.isEmpty })
            #expect(all.allSatisfy { $0.status == nil || $0.opening == Array("ok".utf8) })
        }
    }

    @Test func `a run that is drained waits for the answers to what was sent`() async throws {
        let (thirdRequest, arrival) = AsyncStream<Void>.makeStream()
        try await PlayServer.with { number in
            if number == 2 { arrival.finish() }
            return .answerAfter(.milliseconds(300), PlayServer.ok)
        } _: { server in
            let plan = try Self.plan(server, rate: 20, seconds: .infinity)
            let request = RequestForm.request("GET", plan.target, [], body: nil)
            let run = LoadRun(plan: plan) { _ in InTurn([request]) }
            let draining = Task {
                for await _ in thirdRequest {}
                run.drain()
            }
            let counts = try await run.run().counts
            await draining.value
            #expect(counts.intended > 2 && counts.answered == counts.intended && counts.abandoned == 0)
        }
    }

    @Test func `a run that is drained before it began ends`() async throws {
        try await PlayServer.with { _ in
            .silence
        } _: { server in
            let plan = try Self.plan(server, rate: 1, seconds: .infinity)
            let request = RequestForm.request("GET", plan.target, [], body: nil)
            let run = LoadRun(plan: plan) { _ in InTurn([request]) }
            run.drain()
            #expect(try await run.run().counts.answered == 0)
        }
    }

    @Test(arguments: ["answer", "silence", "none"])
    func `an exchange returns the whole answer, or none in its time`(kind: String) async throws {
        try await PlayServer.with { _ in
            kind == "silence"
                ? .silence : .answer("HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        } _: { server in
            var exchange = Exchange(target: try LoadTarget("http://127.0.0.1:\(server.port)/x"))
            exchange.timeout = kind == "silence" ? .milliseconds(50) : .seconds(60)
            if kind == "none" { exchange.maximumBodyBytes = 2 }
            let reply = try await exchange.get()
            #expect(reply.answer?.status == (kind == "answer" ? 404 : nil))
            if kind == "answer" { #expect(reply.body == Array("abc".utf8)) }
        }
    }
}

/// One request, again and again, counted as they are made.
private final class CountedRequests: LoadTraffic {
    let request: ByteBuffer
    let made = Atomic(0)

    init(request: ByteBuffer) {
        self.request = request
    }

    func next() -> ByteBuffer {
        made.add(1, ordering: .relaxed)
        return request
    }
}
